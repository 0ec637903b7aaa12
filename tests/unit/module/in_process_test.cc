// Behaviour that only modules inside the daemon have.
#include "host/core/clock.h"
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

class InProcessTest : public CoreFixture {
 protected:
  Result<std::shared_ptr<Module>> load(const std::string& file, Isolation isolation = Isolation::kInProcess) {
    ModuleConfig config;
    config.name = "m";
    config.path = file;
    config.isolation = isolation;
    config.position = {"t.toml", 4, 1};
    return run(load_file(core, clock, config, test_modules(), soon()));
  }
  Instant soon() const { return clock.now() + std::chrono::seconds(10); }
  SystemClock clock;
};

TEST_F(InProcessTest, RefusesAModuleThatWantsAProcessOfItsOwn) {
  EXPECT_EQ(load("process_only.so").error(),
            (Error{Code::kFailedPrecondition,
                   "module 'm' must run in a process of its own: set isolation = \"process\" at t.toml:4:1"}));
}

TEST_F(InProcessTest, TwoInstancesOfOneFileShareNothing) {
  const auto one = load("scripted.so"), two = load("scripted.so");
  ASSERT_TRUE(one && two);
  EXPECT_TRUE(run((*one)->start({}, soon())));
  EXPECT_TRUE(run((*two)->start({}, soon())));
  EXPECT_TRUE(run((*one)->stop(soon())));
  EXPECT_TRUE(run((*two)->call(DiscoverCall{}, soon())));
  EXPECT_TRUE(run((*two)->stop(soon())));
}

TEST_F(InProcessTest, WorksWithRealTime) {
  const auto loaded = load("scripted.so");
  ASSERT_TRUE(loaded);
  ASSERT_TRUE(run((*loaded)->start({}, soon())));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(run((*loaded)->call(CheckCall{{"dev-0"}}, soon())));
  EXPECT_TRUE(run((*loaded)->stop(Instant::max())));
}

TEST_F(InProcessTest, AModuleThatIsDroppedWhileItRunsStopsByItself) {
  const auto loaded = load("scripted.so");
  ASSERT_TRUE(loaded);
  ASSERT_TRUE(run((*loaded)->start({}, soon())));
  EXPECT_EQ(loaded->use_count(), 1);
}

class StuckInProcessTest : public ModuleFixture {
 protected:
  StuckInProcessTest() : ModuleFixture(Isolation::kInProcess) {}
};

TEST_F(StuckInProcessTest, TheLeftoverIsReportedUntilTheCallHasReturnedAndTheInstanceIsStopped) {
  ASSERT_TRUE(start_scripted({"prepare=hang"}));
  const auto prepared = begin(module->call(PrepareCall{claim("u1")}, clock.now() + std::chrono::seconds(3)));
  ASSERT_TRUE(is_hanging());
  advance(std::chrono::seconds(3));
  advance(std::chrono::seconds(5));
  ASSERT_TRUE(lost);
  EXPECT_FALSE(run(module->stop(soon())));
  const Leftover left = module->leftover();
  module.reset();
  EXPECT_EQ(left(), lost->message);
  release();
  EXPECT_TRUE(eventually([&] { return left() == std::nullopt; }));
}

// Without a later stop, the module would hold the hardware forever.
TEST_F(StuckInProcessTest, AStopThatCannotBeginInTimeComesLater) {
  ASSERT_TRUE(start_scripted({"prepare=hang"}));
  const auto prepared = begin(module->call(PrepareCall{claim("u1")}, clock.now() + std::chrono::seconds(60)));
  ASSERT_TRUE(is_hanging());
  const auto stopped = begin(module->stop(clock.now() + std::chrono::seconds(1)));
  advance(std::chrono::seconds(1));
  ASSERT_TRUE(eventually([&] { return stopped->has_value(); }));
  const Leftover left = module->leftover();
  ASSERT_TRUE(left());
  EXPECT_THAT(*left(), ::testing::HasSubstr("module 'm' is stuck in prepare since 2027-01-15T08:00:00Z"));
  release();
  EXPECT_TRUE(eventually([&] { return left() == std::nullopt; }));
}

TEST_F(StuckInProcessTest, AStoppedModuleLeavesNothing) {
  ASSERT_TRUE(start_scripted({}));
  ASSERT_TRUE(run(module->stop(soon())));
  EXPECT_FALSE(module->leftover());
  const auto loaded = load(config("scripted.so"));
  EXPECT_FALSE((*loaded)->leftover()) << "never started";
}

TEST_F(StuckInProcessTest, AConstructorThatHangsLeavesItsThread) {
  ::setenv("CARDCAGE_TEST_RELEASE", (folder / "release").c_str(), 1);
  Leftover left;
  const auto loaded = begin(load_file(core, clock, config("slow_constructor.so"), modules_dir, soon(), &left));
  ASSERT_TRUE(is_hanging());
  advance(std::chrono::seconds(10));
  ASSERT_TRUE(eventually([&] { return loaded->has_value(); }));
  ::unsetenv("CARDCAGE_TEST_RELEASE");
  ASSERT_TRUE(left);
  EXPECT_EQ(left(), (*loaded)->error().message);
  release();
  EXPECT_TRUE(eventually([&] { return left() == std::nullopt; }));
}

}  // namespace
}  // namespace cardcage
