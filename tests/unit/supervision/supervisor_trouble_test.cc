// Modules that keep failing, and modules that do not end.
#include "tests/unit/supervision/supervisor_fixture.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class BrokenTest : public SupervisorFixture {
 protected:
  // Makes the module fail at every start.
  void break_it() {
    module->fail<StartCall>(Error{Code::kUnavailable, "no driver loaded"}, 1000);
    settle();
    for (int i = 0; i < 1000 && supervisor.state() == ModuleState::kBackingOff; ++i) {
      clock.advance(1s);
      settle();
    }
    ASSERT_EQ(supervisor.state(), ModuleState::kBroken);
    ASSERT_EQ(loads, 10);
  }
};

TEST_F(BrokenTest, AModuleThatKeepsFailingIsTriedSeldom) {
  break_it();
  EXPECT_THAT(supervisor.warning(),
              HasSubstr("module 'fake' is broken: it failed too often and is tried once in 30 min now; "
                        "'cagectl module restart fake' tries at once, as a new file does: it does not start: "
                        "no driver loaded"));
  EXPECT_THAT(supervisor.module().error().message, HasSubstr("is broken: it does not start"));
  clock.advance(29min);
  settle();
  EXPECT_EQ(loads, 10);
  clock.advance(1min);
  settle();
  EXPECT_EQ(loads, 11);
  EXPECT_EQ(supervisor.state(), ModuleState::kBroken) << "one failure is enough now";
}

TEST_F(BrokenTest, AnOperatorOrANewFileForgivesItsFailures) {
  break_it();
  supervisor.renew();
  settle();
  EXPECT_EQ(loads, 11);
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff);
  EXPECT_EQ(supervisor.recent_failures(), 1u);
  EXPECT_FALSE(**order(ModuleVerb::kRestart));
  EXPECT_EQ(loads, 12);
  module->fail<StartCall>(Error{}, 0);
  EXPECT_TRUE(**order(ModuleVerb::kRestart));
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
}

TEST_F(BrokenTest, AnInstanceThatRunsLongMendsABrokenModule) {
  break_it();
  module->fail<StartCall>(Error{}, 0);
  clock.advance(30min);
  settle();
  ASSERT_EQ(supervisor.state(), ModuleState::kReady);
  clock.advance(11min);
  settle();
  module->events.lost(Error{Code::kUnavailable, "killed"});
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff);
}

class WarningTest : public SupervisorFixture {};

TEST_F(WarningTest, ACallThatGoesOnIsShownWhileTheModuleIsReady) {
  settle();
  module->busy_with = BusyModule{"prepare", clock.now(), clock.now() + 2min};
  clock.advance(9s);
  EXPECT_EQ(supervisor.detail(), "");
  EXPECT_EQ(supervisor.warning(), "");
  clock.advance(25s);
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  EXPECT_EQ(supervisor.detail(), "busy with prepare for 34s of at most 2m");
  EXPECT_EQ(supervisor.warning(), "module 'fake' is busy with prepare for 34s of at most 2m");
  module->busy_with.reset();
  EXPECT_EQ(supervisor.warning(), "");
}

TEST_F(WarningTest, DevicesThatAreLeftOutAreShown) {
  module->devices.left_out = {{"GPU 7", "its id has a space"}};
  settle();
  EXPECT_EQ(supervisor.warning(), "module 'fake' lists device 'GPU 7', which is left out: its id has a space");
}

class StuckTest : public SupervisorFixture {
 protected:
  ~StuckTest() override { run(supervisor.stop()); }  // which asks for the leftovers

  // Loses the instance, which leaves a leftover behind.
  void get_stuck() {
    settle();
    module->events.health("gpu-0", Health{.state = HealthState::kHealthy});
    module->left = [this] { return held; };
    module->events.lost(Error{Code::kUnavailable, "stuck in prepare"});
    settle();
    ASSERT_EQ(supervisor.state(), ModuleState::kStuck);
  }
  std::optional<std::string> held = "module 'fake' is stuck in prepare since noon: restart the daemon";
};

TEST_F(StuckTest, NoOtherInstanceIsMadeUntilTheOldOneIsGone) {
  get_stuck();
  EXPECT_EQ(
      supervisor.module().error(),
      (Error{Code::kUnavailable, "module 'fake' is stuck: it is stuck in prepare since noon: restart the daemon"}));
  EXPECT_EQ(supervisor.health(device()).health.state, HealthState::kUnknown);
  EXPECT_EQ(supervisor.health(device()).health.message, *held);
  EXPECT_EQ(supervisor.warning(), *held);
  for (int i = 0; i < 3; ++i) {
    clock.advance(10min);
    supervisor.renew();
    settle();
  }
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(supervisor.state(), ModuleState::kStuck);

  held.reset();
  clock.advance(1s);
  settle();
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  EXPECT_EQ(module->reconciled.size(), 2u) << "with the claims that are live now";
  EXPECT_TRUE(supervisor.module());
}

TEST_F(StuckTest, CommandsToAStuckModuleAreRefusedWithTheRemedy) {
  get_stuck();
  for (const ModuleVerb verb : {ModuleVerb::kQuiesce, ModuleVerb::kResume, ModuleVerb::kRestart}) {
    const auto done = order(verb);
    ASSERT_TRUE(*done);
    EXPECT_THAT((*done)->error().message, HasSubstr("now: module 'fake' is stuck in prepare since noon: restart"));
  }
}

TEST_F(StuckTest, AStuckModuleCanBeStopped) {
  get_stuck();
  run(supervisor.stop());
  EXPECT_EQ(supervisor.state(), ModuleState::kStopped);
}

TEST_F(StuckTest, AModuleThatDoesNotStopIsStuckAndStaysQuiesced) {
  settle();
  module->left = [this] { return held; };
  const auto done = order(ModuleVerb::kQuiesce);
  ASSERT_TRUE(*done);
  EXPECT_EQ((*done)->error().message, "module 'fake' was stopped and stays quiesced, but " + *held);
  EXPECT_EQ(supervisor.state(), ModuleState::kStuck);
  held.reset();
  clock.advance(1s);
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kQuiesced);
  EXPECT_EQ(loads, 1);
}

TEST_F(StuckTest, ANewFileWaitsUntilTheOldInstanceIsGone) {
  settle();
  const auto old = module;
  old->left = [this] { return held; };
  const auto newer = [&](const std::string& digest) {
    module = std::make_shared<FakeModule>(core);
    module->about.sha256 = digest;
    module->devices = old->devices;
    supervisor.renew();
    settle();
  };
  newer("another");
  ASSERT_EQ(supervisor.module().value(), module) << "beside the old instance";
  newer("a third");
  EXPECT_EQ(loads, 2);
  held.reset();
  clock.advance(30s);
  settle();
  EXPECT_EQ(supervisor.module().value(), module);
}

class StuckLoadTest : public StuckTest {
 protected:
  StuckLoadTest() {
    load_leftover = [this] { return held; };
  }
};

TEST_F(StuckLoadTest, AConstructorThatHangsIsNotCalledAgain) {
  module->fail<StartCall>(Error{Code::kDeadlineExceeded, "stuck while it is loaded"});
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kStuck);
  clock.advance(10min);
  settle();
  EXPECT_EQ(loads, 1);
  held.reset();
  clock.advance(1s);
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
}

}  // namespace
}  // namespace cardcage
