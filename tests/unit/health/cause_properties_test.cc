// Properties of a cause for any statements, rules and order.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "host/health/cause.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

constexpr int kRounds = 200, kSteps = 150;

Moment at(Duration passed) {
  return {Instant{} + 1000h + passed, std::chrono::system_clock::time_point{} + 20000h + passed};
}

// Times are multiples of ten milliseconds, so that ends and statements often occur at one instant.
class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  int roll(int sides) { return static_cast<int>(random_() % static_cast<unsigned>(sides)); }
  Duration time(int most) { return 10ms * roll(most); }
  HealthState state() { return static_cast<HealthState>(roll(5)); }

  HealthRule rule() {
    HealthRule rule;
    rule.recovery = static_cast<Recovery>(roll(4));
    rule.hold_down = roll(2) == 0 ? 0ms : time(20);
    rule.recovery_time = rule.hold_down + 10ms + time(30);
    if (roll(3) == 0) rule.limit = ValueLimit{.limit = 5, .clear = 3};
    if (roll(3) == 0) rule.severity = state();
    if (roll(4) == 0) rule.relapses = static_cast<std::uint32_t>(2 + roll(4));
    rule.window = 500ms + time(200);
    if (roll(4) == 0) rule.taint = TaintRule{.effect = TaintEffect::kNoSchedule};
    return rule;
  }
  Health statement() {
    Health health{.state = state(), .cause = "Link"};
    if (roll(2) == 0) health.reason = roll(2) == 0 ? "A" : "B";
    if (roll(4) == 0) health.timeout = 1s;
    if (roll(2) == 0) health.value = roll(8);
    if (roll(5) == 0) health.taint = TaintEffect::kNoExecute;
    return health;
  }

 private:
  std::mt19937 random_;
};

struct Rules {
  explicit Rules(Dice& dice) : a(dice.rule()), b(dice.rule()), other(dice.rule()) {}
  HealthRule a, b, other;
  RuleOf rule_of = [this](std::string_view reason) -> const HealthRule& {
    if (reason == "A") return a;
    return reason == "B" ? b : other;
  };
};

// The members that users see; two causes with the same history have the same ones.
auto output(const Cause& cause, const Rules& rules, Moment now) {
  return std::tuple(cause.counts(), cause.record(rules.rule_of, {"m", "d"}, now), cause.due());
}

TEST(CausePropertiesTest, SteppingFromDueToDueShowsTheSameAsLookingEachMillisecond) {
  for (int round = 0; round < kRounds / 10; ++round) {
    Dice dice(static_cast<unsigned>(round));
    Rules rules(dice);
    const Health first = dice.statement();
    Cause sparse(rules.rule_of, first, at({})), dense(rules.rule_of, first, at({}));
    Duration passed{0};
    for (int step = 0; step < kSteps; ++step) {
      const Duration until = passed + 10ms + dice.time(25);
      for (; passed < until; passed += 1ms) {
        dense.advance(rules.rule_of, at(passed));
        if (sparse.due() <= at(passed).now) sparse.advance(rules.rule_of, at(passed));
        ASSERT_GT(sparse.due(), at(passed).now) << "seed " << round << " step " << step;
        ASSERT_TRUE(output(sparse, rules, at(passed)) == output(dense, rules, at(passed)))
            << "seed " << round << " step " << step;
      }
      dense.advance(rules.rule_of, at(passed));
      if (sparse.due() <= at(passed).now) sparse.advance(rules.rule_of, at(passed));
      if (dice.roll(15) == 0) {
        ASSERT_EQ(sparse.clear(rules.rule_of, at(passed)), dense.clear(rules.rule_of, at(passed)));
        continue;
      }
      const Health health = dice.statement();
      ASSERT_EQ(sparse.state(rules.rule_of, health, at(passed)), dense.state(rules.rule_of, health, at(passed)));
    }
  }
}

TEST(CausePropertiesTest, TheOrderOfStatementsAtOneInstantDoesNotMatter) {
  for (int round = 0; round < kRounds; ++round) {
    Dice dice(1000U + static_cast<unsigned>(round));
    Rules rules(dice);
    const Health first = dice.statement();
    Cause one(rules.rule_of, first, at({})), other(rules.rule_of, first, at({}));
    std::mt19937 shuffle(static_cast<unsigned>(round));
    Duration passed{0};
    for (int step = 0; step < kSteps; ++step) {
      passed += 10ms + dice.time(25);
      std::vector<Health> statements;
      for (int i = dice.roll(4); i >= 0; --i) statements.push_back(dice.statement());
      for (const Health& health : statements) one.state(rules.rule_of, health, at(passed));
      std::ranges::shuffle(statements, shuffle);
      for (const Health& health : statements) other.state(rules.rule_of, health, at(passed));
      ASSERT_TRUE(output(one, rules, at(passed)) == output(other, rules, at(passed)))
          << "seed " << round << " step " << step;
    }
  }
}

TEST(CausePropertiesTest, NeverHealthyWhileABadStatementHasStoodForTheHoldDown) {
  for (int round = 0; round < kRounds; ++round) {
    Dice dice(2000U + static_cast<unsigned>(round));
    Rules rules(dice);
    for (HealthRule* rule : {&rules.a, &rules.b, &rules.other}) {
      rule->limit.reset();
      rule->severity.reset();
      if (rule->recovery != Recovery::kOperator) rule->recovery = Recovery::kReport;
    }
    Duration passed{0};
    Health standing = dice.statement();
    Cause cause(rules.rule_of, standing, at(passed));
    for (int step = 0; step < kSteps; ++step) {
      const Duration hold_down = rules.rule_of(standing.reason).hold_down;
      const Duration until = passed + 10ms + dice.time(25);
      for (const Duration since = passed; passed < until; passed += 10ms) {
        cause.advance(rules.rule_of, at(passed));
        if (standing.state == HealthState::kHealthy || passed - since < hold_down) continue;
        ASSERT_GE(severity(cause.counts().health.state), severity(standing.state)) << "seed " << round;
      }
      standing = dice.statement();
      cause.state(rules.rule_of, standing, at(passed));
    }
  }
}

TEST(CausePropertiesTest, NeverStuckWithoutALiveCause) {
  for (int round = 0; round < kRounds; ++round) {
    Dice dice(3000U + static_cast<unsigned>(round));
    Rules rules(dice);
    for (HealthRule* rule : {&rules.a, &rules.b, &rules.other}) {
      if (rule->recovery == Recovery::kOperator) rule->recovery = Recovery::kReport;
      rule->relapses = 0;
    }
    Duration passed{0};
    Cause cause(rules.rule_of, dice.statement(), at(passed));
    for (int step = 0; step < kSteps; ++step) {
      passed += 10ms + dice.time(25);
      cause.advance(rules.rule_of, at(passed));
      cause.state(rules.rule_of, dice.statement(), at(passed));
    }
    passed += 10ms;
    cause.state(rules.rule_of, {.state = HealthState::kHealthy, .cause = "Link", .value = 0}, at(passed));
    // Each of the four levels may take the longest recovery_time, or as much damping as the longest window.
    const Duration end = passed + 4 * 2500ms;
    while (cause.due() <= at(end).now) {
      passed = cause.due() - at({}).now;
      cause.advance(rules.rule_of, at(passed));
      ASSERT_GT(cause.due(), at(passed).now);
    }
    ASSERT_EQ(cause.counts().health.state, HealthState::kHealthy) << "seed " << round;
    ASSERT_FALSE(cause.record(rules.rule_of, {}, at(end + 10min))) << "seed " << round;
  }
}

TEST(CausePropertiesTest, ARestartLaundersNothing) {
  for (int round = 0; round < kRounds; ++round) {
    Dice dice(4000U + static_cast<unsigned>(round));
    Rules rules(dice);
    for (HealthRule* rule : {&rules.a, &rules.b, &rules.other}) {
      rule->limit.reset();
      rule->window = 2s;  // a record does not name the rule that damps it
    }
    Duration passed{0};
    Cause cause(rules.rule_of, dice.statement(), at(passed));
    for (int step = 0; step < kSteps; ++step) {
      passed += 10ms + dice.time(25);
      cause.advance(rules.rule_of, at(passed));
      cause.state(rules.rule_of, dice.statement(), at(passed));
      const auto record = cause.record(rules.rule_of, {}, at(passed));
      if (!record) {
        ASSERT_EQ(cause.counts().health.state, HealthState::kHealthy);
        continue;
      }
      const Cause again(rules.rule_of, *record, at(passed));
      ASSERT_EQ(again.quarantined(), cause.quarantined()) << "seed " << round << " step " << step;
      if (cause.counts().health.state == HealthState::kHealthy) {
        ASSERT_EQ(again.counts().health.state, HealthState::kHealthy) << "seed " << round << " step " << step;
      } else if (again.counts().health.state == HealthState::kHealthy) {
        // Only damping held it: changes to a bad state that was never left completely are not in the record.
        const HealthRule& rule = rules.rule_of(record->health.reason);
        ASSERT_TRUE(rule.recovery == Recovery::kSilence || rule.recovery == Recovery::kStable) << "seed " << round;
        ASSERT_GE(at(passed).wall - record->stated, rule.recovery_time) << "seed " << round << " step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace cardcage
