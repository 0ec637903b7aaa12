#include "tests/unit/supervision/supervisor_fixture.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class SupervisorTest : public SupervisorFixture {};

TEST_F(SupervisorTest, IsReadyAfterTheFirstDiscoverAndTellsTheModuleItsLiveClaims) {
  EXPECT_EQ(supervisor.state(), ModuleState::kStarting);
  EXPECT_FALSE(supervisor.module());
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  EXPECT_TRUE(supervisor.settled());
  ASSERT_TRUE(supervisor.module());
  EXPECT_EQ(device().id, "gpu-0");
  ASSERT_EQ(module->reconciled.size(), 1u);
  EXPECT_EQ(module->reconciled[0].at(0).ref.uid, "uid-1");
}

TEST_F(SupervisorTest, StartsAgainWithGrowingBackOff) {
  module->fail<StartCall>(Error{Code::kUnavailable, "no driver loaded"}, 2);
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff);
  EXPECT_TRUE(supervisor.settled());
  EXPECT_THAT(supervisor.module().error().message,
              HasSubstr("module 'fake' is backing off: it does not start: no driver loaded"));
  EXPECT_EQ(module->count<StopCall>(), 1) << "a failed instance is stopped before the next one";
  clock.advance(1s);
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff);
  clock.advance(1s);
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff) << "the second wait is longer";
  clock.advance(1s);
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  EXPECT_EQ(loads, 3);
  EXPECT_EQ(supervisor.last_error(), std::nullopt);
}

TEST_F(SupervisorTest, ALostModuleKeepsItsDevicesListedWithHealthUnknownAndTheReason) {
  settle();
  module->events.health("gpu-0", Health{.state = HealthState::kHealthy});
  EXPECT_EQ(supervisor.health(device()).health.state, HealthState::kHealthy);
  module->said = {{clock.wall(), "about to reset"}};
  module->events.lost(Error{Code::kUnavailable, "prepare has not returned for 45 s"});
  settle();
  ASSERT_TRUE(supervisor.last_end());
  EXPECT_EQ(supervisor.last_end()->how, "prepare has not returned for 45 s");
  ASSERT_EQ(supervisor.last_end()->lines.size(), 1u);
  EXPECT_EQ(supervisor.last_end()->lines[0].text, "about to reset");
  EXPECT_EQ(supervisor.recent_failures(), 1u);
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff);
  ASSERT_TRUE(supervisor.snapshot());
  const Health health = supervisor.health(device()).health;
  EXPECT_EQ(health.state, HealthState::kUnknown);
  EXPECT_EQ(health.reason, "ModuleAway");
  EXPECT_EQ(health.message, "prepare has not returned for 45 s");
}

TEST_F(SupervisorTest, ATaintOutlastsACrashUntilTheModuleReportsAnew) {
  settle();
  const Health bad{.state = HealthState::kUnhealthy, .reason = "XidError", .taint = TaintEffect::kNoSchedule};
  module->events.health("gpu-0", bad);
  module->events.lost(Error{Code::kUnavailable, "killed by signal 11"});
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff);
  EXPECT_EQ(supervisor.health(device()).health, bad) << "the crash does not repair the hardware";
  clock.advance(1s);
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  EXPECT_EQ(supervisor.health(device()).health, bad) << "a list without health says nothing";
  module->events.health("gpu-0", Health{.state = HealthState::kHealthy});
  EXPECT_EQ(supervisor.health(device()).health.state, HealthState::kHealthy);
}

TEST_F(SupervisorTest, ATaintOutlastsTheSilenceOfItsModule) {
  settle();
  const Health bad{
      .state = HealthState::kUnhealthy, .reason = "XidError", .timeout = 60s, .taint = TaintEffect::kNoExecute};
  module->events.health("gpu-0", bad);
  clock.advance(61s);
  settle();
  EXPECT_EQ(supervisor.health(device()).health, bad);
}

TEST_F(SupervisorTest, AStuckModuleTaintsItsDevices) {
  settle();
  module->events.health("gpu-0", Health{.state = HealthState::kUnknown, .reason = "Dusty"});
  module->left = [] { return std::optional<std::string>("a thread is stuck"); };
  module->events.lost(Error{Code::kUnavailable, "stuck in prepare"});
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kStuck);
  EXPECT_EQ(supervisor.health(device()).health.reason, "ModuleStuck");
  EXPECT_EQ(supervisor.health(device()).health.taint, TaintEffect::kNoSchedule);
  module->left = nullptr;
}

TEST_F(SupervisorTest, ABurstOfRescansCostsOneDiscoverAndAnEqualListChangesNothing) {
  settle();
  const int before = changes;
  for (int i = 0; i < 100; ++i) module->events.rescan();
  settle();
  clock.advance(20ms);
  settle();
  EXPECT_EQ(module->count<DiscoverCall>(), 2);
  EXPECT_EQ(changes, before);

  module->devices.devices.push_back(Device{.id = "gpu-1", .name = "gpu-1", .kind = "gpu"});
  module->events.rescan();
  settle();
  clock.advance(20ms);
  settle();
  EXPECT_EQ(changes, before + 1);
  EXPECT_EQ(supervisor.snapshot()->devices.size(), 2u);
}

TEST_F(SupervisorTest, AFailedRescanKeepsTheLastGoodList) {
  settle();
  module->fail<DiscoverCall>(Error{Code::kInternal, "bus busy"});
  module->events.rescan();
  settle();
  clock.advance(20ms);
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  EXPECT_EQ(supervisor.snapshot()->devices.size(), 1u);
  EXPECT_THAT(supervisor.warning(), HasSubstr("bus busy"));
  module->events.rescan();
  settle();
  clock.advance(20ms);
  settle();
  EXPECT_EQ(supervisor.warning(), "");
}

TEST_F(SupervisorTest, HealthThatFallsSilentBecomesUnknown) {
  settle();
  module->events.health("gpu-0", Health{.state = HealthState::kHealthy, .timeout = 60s});
  const int before = changes;
  clock.advance(30s);
  settle();
  EXPECT_EQ(supervisor.health(device()).health.state, HealthState::kHealthy);
  clock.advance(31s);
  settle();
  EXPECT_EQ(supervisor.health(device()).health.reason, "Silent");
  EXPECT_EQ(changes, before + 1) << "the silence is reported once";
}

TEST_F(SupervisorTest, PollsTheHealthOfAModuleThatHasCheck) {
  module->about.has_check = true;
  settle();
  clock.advance(30s);
  settle();
  EXPECT_EQ(module->count<CheckCall>(), 1);
}

TEST_F(SupervisorTest, HealthReportedBeforeADeviceIsListedWaitsForTheList) {
  settle();
  const int before = changes;
  module->events.health("gpu-1", Health{.state = HealthState::kUnhealthy});
  EXPECT_EQ(changes, before);
  module->devices.devices.push_back(Device{.id = "gpu-1", .name = "gpu-1", .kind = "gpu"});
  module->events.rescan();
  settle();
  clock.advance(1s);
  settle();
  ASSERT_EQ(supervisor.snapshot()->devices.size(), 2u);
  EXPECT_EQ(supervisor.health(supervisor.snapshot()->devices[1]).health.state, HealthState::kUnhealthy);
}

TEST_F(SupervisorTest, HealthReportedDuringADiscoverOverridesItsResult) {
  module->devices.devices[0].health.state = HealthState::kHealthy;
  module->block<DiscoverCall>();
  settle();
  module->events.health("gpu-0", Health{.state = HealthState::kUnhealthy});
  module->unblock<DiscoverCall>();
  settle();
  EXPECT_EQ(supervisor.health(device()).health.state, HealthState::kUnhealthy)
      << "reported before the first list was done";

  module->block<DiscoverCall>();
  module->events.rescan();
  settle();
  clock.advance(1s);
  settle();
  module->events.health("gpu-0", Health{.state = HealthState::kUnhealthy, .message = "again"});
  EXPECT_EQ(supervisor.health(device()).health.message, "again") << "a hung discover does not delay health";
  const int before = changes;
  module->unblock<DiscoverCall>();
  settle();
  EXPECT_EQ(supervisor.health(device()).health.message, "again");
  EXPECT_EQ(changes, before) << "the list was older";
}

TEST_F(SupervisorTest, IgnoresHealthOfADeviceThatIsNotListed) {
  settle();
  const int before = changes;
  module->events.health("gpu-9", Health{.state = HealthState::kUnhealthy});
  EXPECT_EQ(changes, before);
}

TEST_F(SupervisorTest, ANewFileIsTakenOverOnceItHasListedItsDevices) {
  settle();
  const auto old = module;
  module = std::make_shared<FakeModule>(core);
  module->about.version = "2.0.0";
  module->about.sha256 = "another";
  module->devices.devices = {Device{.id = "gpu-0", .name = "gpu-0", .kind = "gpu"},
                             Device{.id = "gpu-1", .name = "gpu-1", .kind = "gpu"}};
  module->block<DiscoverCall>();
  supervisor.renew();
  settle();
  EXPECT_EQ(supervisor.module().value(), old) << "it serves until the next instance is ready";
  EXPECT_EQ(supervisor.snapshot()->devices.size(), 1u);
  module->events.health("gpu-1", Health{.state = HealthState::kUnhealthy});
  module->unblock<DiscoverCall>();
  settle();
  EXPECT_EQ(supervisor.module().value(), module);
  EXPECT_EQ(supervisor.identity()->version, "2.0.0");
  ASSERT_EQ(supervisor.snapshot()->devices.size(), 2u);
  EXPECT_EQ(supervisor.health(supervisor.snapshot()->devices[1]).health.state, HealthState::kUnhealthy);
  EXPECT_EQ(module->reconciled.at(0).at(0).ref.uid, "uid-1");
  EXPECT_EQ(old->count<StopCall>(), 1);
  old->events.lost(Error{Code::kUnavailable, "the old one is gone"});
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady) << "the end of a replaced instance does not matter";
  EXPECT_EQ(supervisor.restarts(), 0);
}

TEST_F(SupervisorTest, ANewFileThatFailsChangesNothingAndIsReported) {
  settle();
  const auto old = module;
  for (const std::string_view fault : {StartCall::kName, DiscoverCall::kName}) {
    module = std::make_shared<FakeModule>(core);
    module->about.sha256 = "another";
    module->fail(fault, Error{Code::kUnavailable, "no driver loaded"});
    supervisor.renew();
    settle();
    EXPECT_EQ(supervisor.module().value(), old);
    EXPECT_EQ(supervisor.state(), ModuleState::kReady);
    EXPECT_THAT(
        supervisor.refused()->message,
        HasSubstr("the new file of module 'fake' is not taken over: no driver loaded; the old one stays in use"));
    EXPECT_EQ(module->count<StopCall>(), 1);
  }
  EXPECT_EQ(old->count<StopCall>(), 0);
}

TEST_F(SupervisorTest, NothingOfAFileThatWasOnlyTouchedRuns) {
  settle();
  const auto old = module;
  module = std::make_shared<FakeModule>(core);
  supervisor.renew();
  settle();
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(supervisor.module().value(), old);
  EXPECT_EQ(module->count<StartCall>(), 0);
}

TEST_F(SupervisorTest, ANewFileEndsTheBackOff) {
  module->fail<StartCall>(Error{Code::kUnavailable, "no driver loaded"}, 1);
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff);
  supervisor.renew();
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
}

TEST_F(SupervisorTest, ANewConfigurationIsTakenOverByANewInstanceOfTheSameFile) {
  settle();
  const auto old = module;
  module = std::make_shared<FakeModule>(core);
  module->devices = old->devices;
  module->block<DiscoverCall>();
  supervisor.configure(with_option("b"), {});
  settle();
  EXPECT_TRUE(supervisor.undecided());
  EXPECT_EQ(supervisor.module().value(), old);
  EXPECT_EQ(supervisor.config().options.size(), 0u) << "the configuration of the instance";
  module->unblock<DiscoverCall>();
  settle();
  EXPECT_FALSE(supervisor.undecided());
  EXPECT_EQ(supervisor.module().value(), module);
  EXPECT_EQ(supervisor.config(), with_option("b"));
  EXPECT_EQ(old->count<StopCall>(), 1);
}

TEST_F(SupervisorTest, AConfigurationThatIsRefusedLeavesTheOldOneAndIsTriedAgain) {
  settle();
  const auto old = module;
  module = std::make_shared<FakeModule>(core);
  module->fail<StartCall>(Error{Code::kInvalidArgument, "mode 'b' is not known"});
  supervisor.configure(with_option("b"), {});
  settle();
  ASSERT_TRUE(supervisor.refused());
  EXPECT_THAT(supervisor.refused()->message,
              HasSubstr("the new configuration of module 'fake' is not taken over: mode 'b' is not known; "));
  EXPECT_FALSE(supervisor.undecided());
  EXPECT_EQ(supervisor.module().value(), old);
  old->events.lost(Error{Code::kUnavailable, "crashed"});
  module = old;
  settle();
  clock.advance(1s);
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady) << "with the configuration that worked";
  EXPECT_EQ(supervisor.config().options.size(), 0u);

  module = std::make_shared<FakeModule>(core);
  supervisor.renew();
  settle();
  EXPECT_EQ(supervisor.config(), with_option("b")) << "the file may know the option now";
  EXPECT_FALSE(supervisor.refused());
}

TEST_F(SupervisorTest, AConfigurationThatIsTakenBackWhileItIsTriedIsNotTakenOver) {
  settle();
  const auto old = module;
  module = std::make_shared<FakeModule>(core);
  module->about.sha256 = old->about.sha256;
  module->block<DiscoverCall>();
  supervisor.configure(with_option("b"), {});
  settle();
  supervisor.configure(ModuleConfig{.name = "fake"}, {});
  module->unblock<DiscoverCall>();
  settle();
  EXPECT_EQ(supervisor.module().value(), old);
  EXPECT_EQ(module->count<StopCall>(), 1);
  EXPECT_FALSE(supervisor.undecided());
  EXPECT_FALSE(supervisor.last_error());
}

TEST_F(SupervisorTest, AModuleThatIsAwayIsTriedWithItsNewConfigurationAtOnce) {
  module->fail<StartCall>(Error{Code::kUnavailable, "no such option"}, 1);
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff);
  supervisor.configure(with_option("b"), {});
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  EXPECT_EQ(supervisor.config(), with_option("b"));
}

TEST_F(SupervisorTest, OtherRulesNeedNoNewInstance) {
  settle();
  ModuleConfig config{.name = "fake"};
  config.serve.push_back({.driver = "gpu.example.com"});
  supervisor.configure(config, {});
  settle();
  EXPECT_EQ(supervisor.config().serve.size(), 1u);
  EXPECT_EQ(loads, 1);
}

TEST_F(SupervisorTest, ADrainingModuleServesUntilItIsEnded) {
  settle();
  supervisor.end_drained();
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady) << "it does not drain";
  supervisor.drain("its file is gone");
  settle();
  EXPECT_TRUE(supervisor.module()) << "for its prepared claims";
  supervisor.end_drained();
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff);
  EXPECT_EQ(supervisor.last_error()->message, "its file is gone");
  EXPECT_EQ(module->count<StopCall>(), 1);
  supervisor.drain("");
  supervisor.renew();
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
}

TEST_F(SupervisorTest, StopsWhileItWaitsForTheNextTry) {
  module->fail<StartCall>(Error{Code::kUnavailable, "no driver loaded"}, 100);
  settle();
  run(supervisor.stop());
  EXPECT_EQ(supervisor.state(), ModuleState::kStopped);
}

}  // namespace
}  // namespace cardcage
