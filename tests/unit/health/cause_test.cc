#include "host/health/cause.h"

#include <gtest/gtest.h>

namespace cardcage {
namespace {

using namespace std::chrono_literals;

class CauseTest : public ::testing::Test {
 protected:
  Moment now() const { return {Instant{} + 1000h + passed, std::chrono::system_clock::time_point{} + 20000h + passed}; }
  static Health bad(std::string message = "broken") {
    return {.state = HealthState::kUnhealthy, .reason = "Bad", .message = std::move(message), .cause = "Link"};
  }
  static Health with(HealthState state, std::string reason = "") {
    return {.state = state, .reason = std::move(reason), .cause = "Link"};
  }
  static Health good() { return with(HealthState::kHealthy); }
  static Health measured(double value) { return {.state = HealthState::kHealthy, .cause = "Link", .value = value}; }
  bool state(Health health) {
    if (cause) return cause->state(rule_of, std::move(health), now());
    cause.emplace(rule_of, std::move(health), now());
    return true;
  }
  // Lets time pass, with everything that becomes due.
  bool wait(Duration by) {
    const Duration until = passed + by;
    bool changed = false;
    while (cause->due() <= Instant{} + 1000h + until) {
      passed = cause->due() - Instant{} - 1000h;
      changed |= cause->advance(rule_of, now());
      EXPECT_GT(cause->due(), now().now);
    }
    passed = until;
    return cause->advance(rule_of, now()) || changed;
  }
  HealthState counts() const { return cause->counts().health.state; }
  // The fault returns and ends again.
  void relapse() {
    wait(1s);
    state(bad());
    wait(1s);
    state(good());
  }

  HealthRule rule;
  std::map<std::string, HealthRule, std::less<>> by_reason;
  const RuleOf rule_of = [this](std::string_view reason) -> const HealthRule& {
    const auto found = by_reason.find(reason);
    return found == by_reason.end() ? rule : found->second;
  };
  Duration passed{0};
  std::optional<Cause> cause;
};

TEST_F(CauseTest, CountsAtOnceAndEndsWithTheReportByDefault) {
  state(good());
  EXPECT_EQ(counts(), HealthState::kHealthy);
  wait(1s);
  EXPECT_TRUE(state(bad()));
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
  EXPECT_EQ(cause->due(), Instant::max());
  wait(1s);
  EXPECT_TRUE(state(good()));
  EXPECT_EQ(counts(), HealthState::kHealthy);
}

TEST_F(CauseTest, HoldDownWaitsUntilItHasLasted) {
  rule.hold_down = 10s;
  state(bad());
  EXPECT_EQ(counts(), HealthState::kHealthy);
  wait(9999ms);
  EXPECT_EQ(counts(), HealthState::kHealthy);
  EXPECT_TRUE(wait(1ms));
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
}

TEST_F(CauseTest, ABreakStartsTheHoldDownAnew) {
  rule.hold_down = 10s;
  state(bad());
  wait(9s);
  state(good());
  wait(1s);
  state(bad());
  wait(9s);
  EXPECT_EQ(counts(), HealthState::kHealthy);
  wait(1s);
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
}

TEST_F(CauseTest, FlappingBetweenTwoBadStatesCountsAsTheMilderOne) {
  rule.hold_down = 10s;
  for (int i = 0; i < 5; ++i) {
    state(bad());
    wait(3s);
    state(with(HealthState::kDegraded, "Slow"));
    wait(3s);
  }
  EXPECT_EQ(counts(), HealthState::kDegraded);
  EXPECT_EQ(cause->counts().health.reason, "Slow");
}

TEST_F(CauseTest, GetsMilderOnlyAfterTheRecoveryTime) {
  rule.recovery_time = 30s;
  state(bad());
  wait(1s);
  state(with(HealthState::kDegraded, "Slow"));
  wait(29s);
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
  EXPECT_EQ(cause->counts().health.reason, "Bad");
  EXPECT_TRUE(wait(1s));
  EXPECT_EQ(counts(), HealthState::kDegraded);
  EXPECT_EQ(cause->counts().health.reason, "Slow");
}

TEST_F(CauseTest, AStatementAsBadBreaksTheRecovery) {
  rule.recovery_time = 30s;
  state(bad());
  wait(1s);
  state(good());
  wait(20s);
  state(bad());
  wait(1s);
  state(good());
  wait(29s);
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
  wait(1s);
  EXPECT_EQ(counts(), HealthState::kHealthy);
}

TEST_F(CauseTest, AnotherTextReplacesTheTextButNotTheTimeOfTheChange) {
  state(bad("first"));
  const auto changed = cause->counts().changed;
  wait(1s);
  EXPECT_FALSE(state(bad("first")));
  wait(1s);
  EXPECT_TRUE(state(bad("second")));
  EXPECT_EQ(cause->counts().health.message, "second");
  EXPECT_EQ(cause->counts().changed, changed);
}

TEST_F(CauseTest, SilenceEndsAnEventUntilItIsRepeated) {
  rule.recovery = Recovery::kSilence;
  rule.recovery_time = 60s;
  state(bad());
  wait(50s);
  state(bad());
  wait(59s);
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
  EXPECT_TRUE(wait(1s));
  EXPECT_EQ(counts(), HealthState::kHealthy);
  EXPECT_EQ(cause->counts().health.message, "");
  wait(1h);
  EXPECT_EQ(counts(), HealthState::kHealthy);
  EXPECT_TRUE(state(bad()));
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
}

TEST_F(CauseTest, AReportDoesNotEndWhatOnlySilenceEnds) {
  rule.recovery = Recovery::kSilence;
  rule.recovery_time = 60s;
  state(bad());
  wait(10s);
  state(good());
  wait(49s);
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
  wait(1s);
  EXPECT_EQ(counts(), HealthState::kHealthy);
}

TEST_F(CauseTest, SilenceOfTheWorstLeavesTheMilderOne) {
  rule.recovery = Recovery::kSilence;
  rule.recovery_time = 60s;
  state(bad());
  wait(30s);
  state(with(HealthState::kDegraded, "Slow"));
  wait(30s);
  EXPECT_EQ(counts(), HealthState::kDegraded);
  wait(30s);
  EXPECT_EQ(counts(), HealthState::kHealthy);
}

TEST_F(CauseTest, AStableValueEndsACounterThatStaysHigh) {
  rule.recovery = Recovery::kStable;
  rule.recovery_time = 60s;
  rule.limit = ValueLimit{.limit = 5, .clear = 5};
  state(measured(5));
  wait(30s);
  state(measured(6));
  for (int i = 0; i < 5; ++i) {
    wait(10s);
    state(measured(6));
    EXPECT_EQ(counts(), HealthState::kUnhealthy);
  }
  wait(10s);
  EXPECT_EQ(counts(), HealthState::kHealthy);
  EXPECT_FALSE(state(measured(6)));
  wait(1s);
  state(measured(7));
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
}

TEST_F(CauseTest, OnlyAnOperatorEndsWhatTheRuleLeavesToOne) {
  rule.recovery = Recovery::kOperator;
  state(bad());
  wait(1s);
  state(good());
  wait(24h);
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
  EXPECT_TRUE(cause->clear(rule_of, now()));
  EXPECT_EQ(counts(), HealthState::kHealthy);
  EXPECT_FALSE(cause->clear(rule_of, now()));
}

TEST_F(CauseTest, WhatIsClearedCountsAgainWhenItIsRepeatedAndIsNoRelapse) {
  rule.relapses = 1;
  state(bad());
  wait(1s);
  EXPECT_TRUE(cause->clear(rule_of, now()));
  wait(1h);
  EXPECT_EQ(counts(), HealthState::kHealthy);
  EXPECT_TRUE(state(bad()));
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
  EXPECT_FALSE(cause->quarantined());
}

TEST_F(CauseTest, AValueCountsFromItsLimitUntilItIsClear) {
  rule.limit = ValueLimit{.limit = 90, .clear = 80};
  rule.severity = HealthState::kDegraded;
  state(measured(85));
  EXPECT_EQ(counts(), HealthState::kHealthy);
  for (const auto& [value, state_then] : {std::pair(90.0, HealthState::kDegraded),
                                          {85.0, HealthState::kDegraded},
                                          {80.0, HealthState::kHealthy},
                                          {89.0, HealthState::kHealthy}}) {
    wait(1s);
    state(measured(value));
    EXPECT_EQ(counts(), state_then) << value;
  }
  wait(1s);
  state(measured(95));
  EXPECT_EQ(cause->counts().health.reason, "Above");
  EXPECT_NE(cause->counts().health.message.find("95"), std::string::npos);
  EXPECT_NE(cause->counts().health.message.find("90"), std::string::npos);
}

TEST_F(CauseTest, TheLimitOverridesTheStateOfTheModule) {
  rule.limit = ValueLimit{.side = ValueLimit::Side::kBelow, .limit = 10, .clear = 20};
  Health stated = bad("the fan is slow");
  stated.value = 30;
  state(stated);
  EXPECT_EQ(counts(), HealthState::kHealthy);
  wait(1s);
  stated.value = 10;
  state(stated);
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
  EXPECT_EQ(cause->counts().health.reason, "Bad");
  EXPECT_EQ(cause->counts().health.message, "the fan is slow");
}

TEST_F(CauseTest, TheRuleDecidesSeverityAndTaint) {
  rule.severity = HealthState::kDegraded;
  rule.taint = TaintRule{.effect = TaintEffect::kNoExecute, .key = "example.com/link", .value = "down"};
  rule.kubelet = KubeletHealth::kUnhealthy;
  state(bad());
  EXPECT_EQ(counts(), HealthState::kDegraded);
  EXPECT_EQ(cause->counts().health.taint, TaintEffect::kNoExecute);
  EXPECT_EQ(cause->counts().health.taint_key, "example.com/link");
  EXPECT_EQ(cause->counts().kubelet, KubeletHealth::kUnhealthy);
}

TEST_F(CauseTest, ASilentModuleMakesTheCauseUnknownButNeverMilder) {
  Health stated = good();
  stated.timeout = 30s;
  state(stated);
  wait(29s);
  EXPECT_EQ(counts(), HealthState::kHealthy);
  EXPECT_TRUE(wait(1s));
  EXPECT_EQ(counts(), HealthState::kUnknown);
  EXPECT_EQ(cause->counts().health.reason, "Silent");
  EXPECT_EQ(cause->counts().health.message, "no report about Link for 30 s");
  state(stated);
  EXPECT_EQ(counts(), HealthState::kHealthy);
  stated = bad();
  stated.timeout = 30s;
  wait(1s);
  state(stated);
  EXPECT_FALSE(wait(1h));
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
  EXPECT_EQ(cause->counts().health.reason, "Bad");
}

TEST_F(CauseTest, ATaintOutlastsSilence) {
  Health stated = with(HealthState::kDegraded, "Slow");
  stated.timeout = 30s;
  stated.taint = TaintEffect::kNoSchedule;
  state(stated);
  EXPECT_FALSE(wait(1h));
  EXPECT_EQ(counts(), HealthState::kDegraded);
}

TEST_F(CauseTest, EachRelapseFromTheThirdOnHasToStayAwayLonger) {
  state(bad());
  wait(1s);
  state(good());
  for (int i = 0; i < 2; ++i) {
    relapse();
    EXPECT_EQ(counts(), HealthState::kHealthy);
  }
  for (const Duration damping : {10s, 20s, 40s}) {
    relapse();
    wait(damping - 1ms);
    EXPECT_EQ(counts(), HealthState::kUnhealthy);
    wait(1ms);
    EXPECT_EQ(counts(), HealthState::kHealthy);
  }
  wait(11min);
  relapse();
  EXPECT_EQ(counts(), HealthState::kHealthy);
}

TEST_F(CauseTest, FlappingBetweenBadStatesIsDampedButNoRelapse) {
  rule.relapses = 1;
  int changes = 0;
  state(bad());
  for (int i = 0; i < 1000; ++i) {
    wait(1ms);
    changes += state(with(HealthState::kDegraded)) ? 1 : 0;
    wait(1ms);
    changes += state(bad()) ? 1 : 0;
  }
  EXPECT_LT(changes, 10);
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
  EXPECT_FALSE(cause->quarantined());
}

TEST_F(CauseTest, TooManyRelapsesAreLeftToAnOperator) {
  rule.relapses = 2;
  rule.window = 10min;
  state(bad());
  wait(1s);
  state(good());
  relapse();
  EXPECT_FALSE(cause->quarantined());
  relapse();
  wait(48h);
  EXPECT_TRUE(cause->quarantined());
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
  EXPECT_TRUE(cause->counts().quarantined);
  EXPECT_EQ(cause->counts().health.message,
            "broken; it came back 2 times within 10m, so only an operator ends it: see 'cagectl device clear'");
  wait(1s);
  state(bad(std::string(kMaxHealthMessage, 'x')));
  EXPECT_EQ(cause->counts().health.message.size(), kMaxHealthMessage);
  EXPECT_TRUE(cause->counts().health.message.ends_with("'cagectl device clear'"));
  cause->clear(rule_of, now());
  EXPECT_FALSE(cause->quarantined());
  EXPECT_EQ(counts(), HealthState::kHealthy);
}

TEST_F(CauseTest, TheWorstStatementOfAnInstantStandsWhateverTheOrder) {
  for (const bool worst_first : {true, false}) {
    cause.reset();
    state(bad("first"));
    wait(1s);
    state(good());
    wait(1s);
    state(worst_first ? bad("second") : good());
    state(worst_first ? good() : bad("second"));
    EXPECT_EQ(counts(), HealthState::kUnhealthy) << worst_first;
    EXPECT_EQ(cause->record(rule_of, {}, now())->relapses.size(), 1) << worst_first;
    wait(1s);
    // A milder statement at the same instant must not end it in between.
    state(worst_first ? bad("third") : good());
    state(worst_first ? good() : bad("third"));
    EXPECT_EQ(counts(), HealthState::kUnhealthy);
    EXPECT_EQ(cause->record(rule_of, {}, now())->relapses.size(), 1) << worst_first;
  }
}

TEST_F(CauseTest, ARecordCountsUntilTheModuleStatesTheEnd) {
  state(bad());
  wait(5s);
  const CauseRecord record = cause->record(rule_of, {"m", "d"}, now()).value();
  EXPECT_EQ(record.device, (DeviceKey{"m", "d"}));
  EXPECT_EQ(record.health.message, "broken");
  wait(1h);
  cause.emplace(rule_of, record, now());
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
  EXPECT_EQ(cause->counts().changed, record.changed);
  EXPECT_FALSE(wait(24h));
  EXPECT_TRUE(state(good()));
  EXPECT_EQ(counts(), HealthState::kHealthy);
}

TEST_F(CauseTest, ARecordGoesOnCountingSilenceRelapsesAndQuarantine) {
  rule.recovery = Recovery::kSilence;
  rule.recovery_time = 60s;
  CauseRecord record{.health = bad(), .changed = now().wall - 70s, .stated = now().wall - 50s};
  cause.emplace(rule_of, record, now());
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
  wait(10s);
  EXPECT_EQ(counts(), HealthState::kHealthy);
  record.quarantined = true;
  cause.emplace(rule_of, record, now());
  wait(24h);
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
  EXPECT_TRUE(cause->quarantined());
  record.quarantined = false;
  record.changed = record.stated = now().wall + 1h;  // the time of day has jumped
  cause.emplace(rule_of, record, now());
  EXPECT_EQ(cause->due(), now().now + 60s);
}

TEST_F(CauseTest, AWellCauseHasNoRecordOnceItsRelapsesAreOld) {
  state(good());
  EXPECT_FALSE(cause->record(rule_of, {}, now()));
  relapse();
  EXPECT_TRUE(cause->record(rule_of, {}, now()));
  wait(10min);
  EXPECT_FALSE(cause->record(rule_of, {}, now()));
  EXPECT_EQ(cause->due(), Instant::max());
}

TEST_F(CauseTest, OtherRulesApplyToWhatCountsAtOnce) {
  rule.recovery = Recovery::kOperator;
  state(bad());
  wait(1s);
  rule.severity = HealthState::kDegraded;
  EXPECT_TRUE(cause->advance(rule_of, now()));
  EXPECT_EQ(counts(), HealthState::kDegraded);
  rule.severity = HealthState::kHealthy;
  EXPECT_TRUE(cause->advance(rule_of, now()));
  EXPECT_EQ(counts(), HealthState::kHealthy);
  rule.severity.reset();
  EXPECT_TRUE(cause->advance(rule_of, now()));
  EXPECT_EQ(counts(), HealthState::kUnhealthy);
  EXPECT_TRUE(cause->record(rule_of, {}, now())->relapses.empty());
}

TEST_F(CauseTest, AnIgnoredReasonLeavesWhatCountsForAnotherOne) {
  by_reason["Harmless"].severity = HealthState::kHealthy;
  rule.recovery = Recovery::kOperator;
  state(bad());
  wait(1s);
  EXPECT_FALSE(state(with(HealthState::kUnhealthy, "Harmless")));
  EXPECT_EQ(cause->counts().health.reason, "Bad");
}

}  // namespace
}  // namespace cardcage
