// What holds only for modules inside the daemon.
#include <gmock/gmock.h>

#include "host/core/clock.h"
#include "host/module/load.h"
#include "tests/fakes/core_fixture.h"

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
    return run(load_module(core, clock, config, CARDCAGE_TEST_MODULES, soon()));
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
  EXPECT_TRUE(run((*two)->discover(soon())));
  EXPECT_TRUE(run((*two)->stop(soon())));
}

TEST_F(InProcessTest, WorksWithRealTime) {
  const auto loaded = load("scripted.so");
  ASSERT_TRUE(loaded);
  ASSERT_TRUE(run((*loaded)->start({}, soon())));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(run((*loaded)->check("dev-0", soon())));
  EXPECT_TRUE(run((*loaded)->stop(Instant::max())));
}

TEST_F(InProcessTest, AModuleThatIsDroppedWhileItRunsStopsByItself) {
  const auto loaded = load("scripted.so");
  ASSERT_TRUE(loaded);
  ASSERT_TRUE(run((*loaded)->start({}, soon())));
  EXPECT_EQ(loaded->use_count(), 1);
}

}  // namespace
}  // namespace cardcage
