#include "host/supervision/supervisors.h"

#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_health_store.h"
#include "tests/fakes/fake_module.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

class SupervisorsTest : public CoreFixture {
 protected:
  SupervisorsTest() {
    spawn(core, supervisors.watch_files());
    configure({ModuleConfig{.name = "fake"}});
  }
  ~SupervisorsTest() override {
    module->unblock<StartCall>();
    run(supervisors.stop());
  }

  void configure(std::vector<ModuleConfig> modules) {
    Config config;
    config.modules = std::move(modules);
    supervisors.configure(config, {});
  }
  static Task<Result<ModuleBuild>> stage() { co_return std::make_shared<const StagedModule>(); }
  Task<Result<std::shared_ptr<Module>>> load() { co_return module; }
  // Points to true once the wait has ended.
  std::shared_ptr<bool> wait_until_decided() {
    auto ended = std::make_shared<bool>();
    spawn(core, mark_end(supervisors.wait_until_decided({"fake"}, clock.now() + 20s), ended));
    settle();
    return ended;
  }

  FakeClock clock;
  std::shared_ptr<FakeModule> module = std::make_shared<FakeModule>(core);
  std::size_t held = 0;
  ScratchFolder folder;
  QuiesceMarks marks{folder / "quiesced", "this boot"};
  FakeHealthStore records;
  Supervisors supervisors{
      {.core = core,
       .clock = clock,
       .loader = {.stage = [](const ModuleConfig&, Instant, Leftover&) { return stage(); },
                  .load = [this](const ModuleConfig&, const ModuleBuild&, Instant, Leftover&) { return load(); }},
       .quiesced = marks,
       .health = records,
       .listener = {[](const Supervisor&, SupervisorEvent) {},
                    [](const std::string&) { return std::vector<ModuleClaim>(); }},
       .arranged = [](const auto&) {},
       .held = [this](const std::string&) { return held; }},
      {folder.path()}};

  static Task<void> mark_end(Task<void> task, std::shared_ptr<bool> ended) {
    co_await std::move(task);
    *ended = true;
  }
};

TEST_F(SupervisorsTest, EverybodyWhoWaitsHearsWhenAModuleIsDecided) {
  module->block<StartCall>();
  const auto first = wait_until_decided(), second = wait_until_decided();
  EXPECT_FALSE(*first);
  module->unblock<StartCall>();
  settle();
  EXPECT_TRUE(*first);
  EXPECT_TRUE(*second);
  EXPECT_TRUE(*wait_until_decided()) << "there is nothing to wait for";
}

TEST_F(SupervisorsTest, AWaitForADecisionEndsAtItsDeadline) {
  module->block<StartCall>();
  const auto ended = wait_until_decided();
  clock.advance(19s);
  settle();
  EXPECT_FALSE(*ended);
  clock.advance(1s);
  settle();
  EXPECT_TRUE(*ended);
}

TEST_F(SupervisorsTest, ModulesStopAtTheSameTime) {
  configure({ModuleConfig{.name = "one"}, ModuleConfig{.name = "two"}});
  settle();
  const auto stops_before = module->count<StopCall>();
  module->block<StopCall>();
  auto stopped = std::make_shared<bool>();
  spawn(core, mark_end(supervisors.stop(), stopped));
  runs_until([&] { return module->count<StopCall>() >= stops_before + 2; });
  EXPECT_GE(module->count<StopCall>(), stops_before + 2) << "both share one fake";
  EXPECT_FALSE(*stopped);
  module->unblock<StopCall>();
  EXPECT_TRUE(runs_until([&] { return *stopped; }));
}

TEST_F(SupervisorsTest, AWaitForADecisionEndsWhenTheSupervisorsStop) {
  module->block<StartCall>();
  const auto ended = wait_until_decided();
  module->unblock<StartCall>();
  run(supervisors.stop());
  settle();
  EXPECT_TRUE(*ended);
}

TEST_F(SupervisorsTest, AModuleThatWasRemovedGoesOnceNothingHoldsItsDevices) {
  settle();
  held = 2;
  configure({});
  run(supervisors.tidy());
  ASSERT_EQ(supervisors.all().size(), 1u);
  EXPECT_TRUE(supervisors.untidy());
  EXPECT_EQ(supervisors.draining(*supervisors.all()[0]),
            "it was removed from the configuration; 2 claims hold devices of it");
  held = 0;
  run(supervisors.tidy());
  EXPECT_TRUE(supervisors.all().empty());
  EXPECT_FALSE(supervisors.untidy());
}

TEST_F(SupervisorsTest, AModuleThatIsConfiguredAgainGoesOn) {
  settle();
  held = 1;
  configure({});
  configure({ModuleConfig{.name = "fake"}});
  EXPECT_EQ(supervisors.draining(*supervisors.all()[0]), "");
  EXPECT_EQ(module->count<StartCall>(), 1);
}

}  // namespace
}  // namespace cardcage
