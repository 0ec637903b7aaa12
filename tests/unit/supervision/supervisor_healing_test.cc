// Effects of rules, operators and remedies on the devices of a module.
#include "tests/unit/supervision/supervisor_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SupervisorHealingTest : public SupervisorFixture {
 protected:
  SupervisorHealingTest() {
    module->about.families.add(Family::kReset);
    module->about.causes = {{.name = "Temperature", .help = "hot", .unit = "Cel"}, {.name = "Ecc", .help = "bits"}};
    settle();
  }
  void state(const std::string& cause, HealthState health, std::optional<double> value = {}) {
    clock.advance(10ms);
    module->events.health("gpu-0", Health{.state = health, .reason = "Reason", .cause = cause, .value = value});
    settle();
  }
  static ModuleConfig with_rule(HealthRuleConfig rule) {
    ModuleConfig config{.name = "fake"};
    config.health = {std::move(rule)};
    return config;
  }
  static HealthRuleConfig hot_rule() {
    HealthRuleConfig rule{.cause = "Temperature"};
    rule.limit = {{ValueLimit::Side::kAbove, 90, 80}, "Cel"};
    return rule;
  }
  static HealthRuleConfig reset_rule(std::uint32_t per_day = 1) {
    HealthRuleConfig rule{.cause = "Ecc"};
    rule.resets_per_day = per_day;
    return rule;
  }
  Result<std::string> execute(DeviceCommand command) {
    command.device = command.device.empty() ? "gpu-0" : command.device;
    command.by = "alice";
    command.limit = 10s;
    return run(supervisor.execute(std::move(command)));
  }
  HealthState health() { return supervisor.health(device()).health.state; }
};

TEST_F(SupervisorHealingTest, NewRulesCountAtOnceAndNeedNoNewInstance) {
  state("Temperature", HealthState::kHealthy, 95);
  EXPECT_EQ(health(), HealthState::kHealthy);
  supervisor.configure(with_rule(hot_rule()), {});
  settle();
  EXPECT_EQ(health(), HealthState::kUnhealthy);
  EXPECT_EQ(loads, 1);
  EXPECT_FALSE(supervisor.undecided());
  supervisor.configure(ModuleConfig{.name = "fake"}, {});
  settle();
  EXPECT_EQ(health(), HealthState::kHealthy);
}

TEST_F(SupervisorHealingTest, RulesThatDoNotFitTheModuleAreRefusedAndThoseBeforeStayInForce) {
  supervisor.configure(with_rule(hot_rule()), {});
  state("Temperature", HealthState::kHealthy, 95);
  HealthRuleConfig misspelt = hot_rule();
  misspelt.cause = "Temprature";
  misspelt.position = {"cardcage.toml", 12, 3};
  supervisor.configure(with_rule(misspelt), {});
  settle();
  ASSERT_TRUE(supervisor.refused());
  EXPECT_THAT(supervisor.refused()->message, HasSubstr("cardcage.toml:12:3"));
  EXPECT_THAT(supervisor.refused()->message, HasSubstr("Temperature"));
  EXPECT_EQ(health(), HealthState::kUnhealthy);
  supervisor.configure(with_rule(hot_rule()), {});
  settle();
  EXPECT_FALSE(supervisor.refused());
}

TEST_F(SupervisorHealingTest, HoldDownsEndWhileTheModuleIsBusy) {
  HealthRuleConfig rule = hot_rule();
  rule.hold_down = 5s;
  supervisor.configure(with_rule(rule), {});
  state("Temperature", HealthState::kHealthy, 95);
  EXPECT_EQ(health(), HealthState::kHealthy);
  module->block<DiscoverCall>();
  module->events.rescan();
  settle();
  clock.advance(20ms);
  settle();
  clock.advance(5s);
  settle();
  EXPECT_EQ(health(), HealthState::kUnhealthy);
  module->unblock<DiscoverCall>();
  settle();
}

TEST_F(SupervisorHealingTest, ACordonIsATaintAndNoFault) {
  const auto done = execute({.verb = DeviceVerb::kCordon, .reason = "noisy fan"});
  ASSERT_TRUE(done);
  EXPECT_THAT(*done, HasSubstr("device 'gpu-0' is cordoned"));
  EXPECT_EQ(strongest_taint(supervisor.health(device()).causes), TaintEffect::kNoSchedule);
  EXPECT_EQ(health(), HealthState::kDegraded);
  EXPECT_TRUE(supervisor.device_health().find_cordon("gpu-0"));
  EXPECT_TRUE(execute({.verb = DeviceVerb::kUncordon}));
  EXPECT_FALSE(supervisor.device_health().find_cordon("gpu-0"));
  EXPECT_FALSE(execute({.verb = DeviceVerb::kUncordon}));
}

TEST_F(SupervisorHealingTest, OnlyACauseThatIsThereCanBeCleared) {
  HealthRuleConfig rule{.cause = "Ecc"};
  rule.recovery = Recovery::kOperator;
  supervisor.configure(with_rule(rule), {});
  state("Ecc", HealthState::kUnhealthy);
  state("Ecc", HealthState::kHealthy);
  EXPECT_EQ(health(), HealthState::kUnhealthy);
  const auto unknown = execute({.verb = DeviceVerb::kClear, .cause = "Link"});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("'Ecc'"));
  EXPECT_TRUE(execute({.verb = DeviceVerb::kClear, .cause = "Ecc"}));
  EXPECT_EQ(health(), HealthState::kHealthy);
  EXPECT_EQ(health_events.back().kind, HealthEventKind::kCleared);
  EXPECT_EQ(health_events.back().by, "alice");
}

TEST_F(SupervisorHealingTest, AnUnknownDeviceIsRefused) {
  const auto done = execute({.verb = DeviceVerb::kCordon, .device = "gpu-9"});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kNotFound);
}

TEST_F(SupervisorHealingTest, AResetIsRefusedWhileSomebodyHoldsTheDevice) {
  holders = "'default/train'";
  const auto refused = execute({.verb = DeviceVerb::kReset});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("held by 'default/train'"));
  EXPECT_EQ(module->count<ResetCall>(), 0);
  EXPECT_TRUE(execute({.verb = DeviceVerb::kReset, .force = true}));
  EXPECT_EQ(module->count<ResetCall>(), 1);
}

TEST_F(SupervisorHealingTest, NobodyGetsTheDeviceWhileItIsReset) {
  module->block<ResetCall>();
  std::optional<Result<std::string>> outcome;
  spawn(core, [](Supervisor& one, std::optional<Result<std::string>>& out) -> Task<void> {
    DeviceCommand command{.verb = DeviceVerb::kReset, .device = "gpu-0", .limit = 10s};
    out = co_await one.execute(std::move(command));
  }(supervisor, outcome));
  settle();
  EXPECT_THAT(supervisor.why_withheld(device()), HasSubstr("is being reset"));
  EXPECT_EQ(supervisor.health(device()).health.reason, "Resetting");
  const auto second = execute({.verb = DeviceVerb::kReset});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAborted);
  module->unblock<ResetCall>();
  settle();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(*outcome);
  EXPECT_THAT(supervisor.why_withheld(device()), IsEmpty());
  EXPECT_EQ(health_events.back().kind, HealthEventKind::kReset);
}

TEST_F(SupervisorHealingTest, AfterAResetTheDevicesAreListedAndCheckedAnew) {
  const int discovers = module->count<DiscoverCall>();
  ASSERT_TRUE(execute({.verb = DeviceVerb::kReset}));
  clock.advance(20ms);
  settle();
  EXPECT_EQ(module->count<DiscoverCall>(), discovers + 1);
}

TEST_F(SupervisorHealingTest, AResetThatFailsIsReportedAndTheDeviceGoesOn) {
  module->fail<ResetCall>(Error{Code::kUnimplemented, "this card cannot be reset"});
  const auto done = execute({.verb = DeviceVerb::kReset});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("this card cannot be reset"));
  EXPECT_EQ(health_events.back().kind, HealthEventKind::kResetFailed);
  EXPECT_THAT(supervisor.why_withheld(device()), IsEmpty());
}

TEST_F(SupervisorHealingTest, ARemedyResetsTheDeviceOnceItIsFree) {
  supervisor.configure(with_rule(reset_rule()), {});
  holders = "'default/train'";
  state("Ecc", HealthState::kUnhealthy);
  for (int i = 0; i < 5; ++i) {
    clock.advance(1s);
    settle();
  }
  EXPECT_EQ(module->count<ResetCall>(), 0) << "a claim holds it";
  holders = "";
  clock.advance(1s);
  settle();
  EXPECT_EQ(module->count<ResetCall>(), 1);
  EXPECT_EQ(health_events.back().kind, HealthEventKind::kReset);
  EXPECT_EQ(health_events.back().by, "remedy");
  state("Ecc", HealthState::kHealthy);
  EXPECT_EQ(health(), HealthState::kHealthy);
}

TEST_F(SupervisorHealingTest, ARemedyGivesUpAfterItsNumberOfResetsInADay) {
  supervisor.configure(with_rule(reset_rule(2)), {});
  state("Ecc", HealthState::kUnhealthy);
  for (int i = 0; i < 60; ++i) {
    clock.advance(1min);
    settle();
  }
  EXPECT_EQ(module->count<ResetCall>(), 2);
  clock.advance(24h);
  settle();
  clock.advance(1s);
  settle();
  EXPECT_GT(module->count<ResetCall>(), 2);
}

TEST_F(SupervisorHealingTest, ARemedyIsWrittenDownBeforeItIsMade) {
  supervisor.configure(with_rule(reset_rule(1)), {});
  records.disk = fail(Code::kUnavailable, "the disk hangs");
  state("Ecc", HealthState::kUnhealthy);
  for (int i = 0; i < 5; ++i) {
    clock.advance(1s);
    settle();
  }
  EXPECT_EQ(module->count<ResetCall>(), 0);
  EXPECT_THAT(execute({.verb = DeviceVerb::kReset}).value_or(""), HasSubstr("is reset")) << "an operator decides";
  EXPECT_EQ(module->count<ResetCall>(), 1);
  records.disk = {};
  clock.advance(1s);
  settle();
  EXPECT_EQ(module->count<ResetCall>(), 2);
  EXPECT_EQ(records.attempts.size(), 1u);
}

TEST_F(SupervisorHealingTest, WithoutARuleNothingIsReset) {
  state("Ecc", HealthState::kUnhealthy);
  clock.advance(1h);
  settle();
  EXPECT_EQ(module->count<ResetCall>(), 0);
}

TEST_F(SupervisorHealingTest, CausesOutliveTheInstance) {
  state("Ecc", HealthState::kUnhealthy);
  module->events.lost(Error{Code::kUnavailable, "its worker exited"});
  settle();
  clock.advance(10s);
  settle();
  ASSERT_EQ(supervisor.state(), ModuleState::kReady);
  EXPECT_EQ(health(), HealthState::kUnhealthy);
}

}  // namespace
}  // namespace cardcage
