#include "host/health/rules.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

CauseDeclaration temperature() {
  CauseDeclaration cause;
  cause.name = "Temperature";
  cause.help = "The chip is too hot.";
  cause.unit = "Cel";
  cause.limit = ValueLimit{ValueLimit::Side::kAbove, 95, 90};
  cause.severity = HealthState::kDegraded;
  cause.hold_down = 5s;
  cause.recovery_time = 30s;
  cause.taint = {TaintEffect::kNoSchedule, "example.com/hot", "Hot"};
  return cause;
}
CauseDeclaration power() {
  CauseDeclaration cause;
  cause.name = "Power";
  cause.unit = "W";
  return cause;
}
CauseDeclaration xid() {
  CauseDeclaration cause;
  cause.name = "Xid";
  cause.event = true;
  cause.recovery = Recovery::kSilence;
  cause.recovery_time = 10min;
  cause.relapses = 5;
  cause.window = 1h;
  return cause;
}
CauseDeclaration ecc() {
  CauseDeclaration cause;
  cause.name = "Ecc";
  cause.recovery = Recovery::kOperator;
  return cause;
}
std::vector<CauseDeclaration> declared() { return {temperature(), power(), xid(), ecc()}; }

HealthRuleConfig written(std::string cause, std::string reason = "", std::uint32_t line = 7) {
  HealthRuleConfig rule;
  rule.cause = std::move(cause);
  rule.reason = std::move(reason);
  rule.position = {"c.toml", line, 1};
  return rule;
}
HealthRuleConfig limited(std::string cause, ValueLimit limit, std::string unit = "") {
  HealthRuleConfig rule = written(std::move(cause));
  rule.limit = {limit, std::move(unit)};
  return rule;
}
HealthRuleConfig recovering(std::string cause, Recovery recovery) {
  HealthRuleConfig rule = written(std::move(cause));
  rule.recovery = recovery;
  return rule;
}

HealthRules made(const std::vector<CauseDeclaration>& causes, const std::vector<HealthRuleConfig>& configured) {
  auto rules = HealthRules::make(causes, true, configured);
  EXPECT_TRUE(rules) << rules.error().to_string();
  return rules ? *std::move(rules) : HealthRules();
}
std::string errors(const std::vector<CauseDeclaration>& causes, const std::vector<HealthRuleConfig>& configured,
                   bool has_reset = true) {
  const auto rules = HealthRules::make(causes, has_reset, configured);
  return rules ? "" : rules.error().to_string();
}
std::vector<std::string> listed(const HealthRules& rules) {
  std::vector<std::string> lines;
  for (const NamedRule& rule : rules.all())
    lines.push_back(fmt::format("{} {} {}", rule.cause, rule.reason.empty() ? "any" : rule.reason, rule.origin));
  return lines;
}

TEST(HealthRulesTest, WithoutDeclarationsAndRulesEachCauseHasTheBuiltInRule) {
  for (const HealthRules& rules : {HealthRules(), made({}, {})}) {
    EXPECT_EQ(rules.find("Anything", "AtAll"), HealthRule());
    EXPECT_EQ(rules.find("", ""), HealthRule());
    EXPECT_TRUE(rules.declares("Anything"));
    EXPECT_THAT(listed(rules), ElementsAre("* any built in"));
  }
}

TEST(HealthRulesTest, ADeclaredCauseHasTheRuleThatTheModuleDeclares) {
  const HealthRules rules = made(declared(), {});
  const HealthRule& rule = rules.find("Temperature", "Overheated");
  EXPECT_EQ(rule.limit, (ValueLimit{ValueLimit::Side::kAbove, 95, 90}));
  EXPECT_EQ(rule.severity, HealthState::kDegraded);
  EXPECT_EQ(rule.hold_down, 5s);
  EXPECT_EQ(rule.recovery, Recovery::kReport);
  EXPECT_EQ(rule.recovery_time, 30s);
  EXPECT_EQ(rule.taint, std::nullopt) << "a stated taint replaces a declared one";
  EXPECT_EQ(rule.default_taint, temperature().taint);
  EXPECT_EQ(rules.find("Xid", "").relapses, 5u);
  EXPECT_EQ(rules.find("Xid", "").window, 1h);
  EXPECT_EQ(rules.find("Other", ""), HealthRule());
  EXPECT_TRUE(rules.declares("Xid"));
  EXPECT_FALSE(rules.declares("Other"));
  EXPECT_FALSE(rules.declares(""));
}

TEST(HealthRulesTest, WhatARuleLeavesOpenComesFromTheDeclaration) {
  HealthRuleConfig rule = written("Temperature");
  rule.severity = HealthState::kUnhealthy;
  rule.hold_down = 1min;
  rule.kubelet = KubeletHealth::kHealthy;
  rule.taint = TaintRule{};
  const HealthRules rules = made(declared(), {rule});
  const HealthRule& found = rules.find("Temperature", "");
  EXPECT_EQ(found.severity, HealthState::kUnhealthy);
  EXPECT_EQ(found.hold_down, 1min);
  EXPECT_EQ(found.kubelet, KubeletHealth::kHealthy);
  EXPECT_EQ(found.taint, TaintRule{}) << "there is no taint";
  EXPECT_EQ(found.limit, temperature().limit);
  EXPECT_EQ(found.recovery_time, 30s);
  EXPECT_EQ(rules.find("Power", ""), HealthRule());
}

TEST(HealthRulesTest, TheFirstRuleThatMatchesCauseAndReasonCounts) {
  HealthRuleConfig ignored = written("Xid", "Xid31", 1), some = written("Xid", "Xid4*", 2), rest = written("X*", "", 3);
  ignored.severity = HealthState::kHealthy;
  some.severity = HealthState::kDegraded;
  rest.severity = HealthState::kUnmonitored;
  const HealthRules rules = made(declared(), {ignored, some, rest});
  EXPECT_EQ(rules.find("Xid", "Xid31").severity, HealthState::kHealthy);
  EXPECT_EQ(rules.find("Xid", "Xid43").severity, HealthState::kDegraded);
  EXPECT_EQ(rules.find("Xid", "Xid79").severity, HealthState::kUnmonitored);
  EXPECT_EQ(rules.find("Xid", "").severity, HealthState::kUnmonitored);
  EXPECT_EQ(rules.find("Ecc", "Xid31").severity, std::nullopt);
}

TEST(HealthRulesTest, AReasonThatNoRuleTakesIsLeftToTheDeclaration) {
  HealthRuleConfig ignored = written("Xid", "Xid31");
  ignored.severity = HealthState::kHealthy;
  EXPECT_EQ(made(declared(), {ignored}).find("Xid", "Xid79").recovery_time, 10min);
}

TEST(HealthRulesTest, AGlobLeavesOpenWhatEachCauseDeclares) {
  HealthRuleConfig all = written("*");
  all.kubelet = KubeletHealth::kUnknown;
  const HealthRules rules = made(declared(), {all});
  EXPECT_EQ(rules.find("Ecc", "").recovery, Recovery::kOperator);
  EXPECT_EQ(rules.find("Xid", "").recovery_time, 10min);
  EXPECT_EQ(rules.find("Xid", "").kubelet, KubeletHealth::kUnknown);
  EXPECT_EQ(rules.find("", "").kubelet, KubeletHealth::kUnknown) << "even for undeclared causes";
}

TEST(HealthRulesTest, ARuleAboutValuesDoesNotJudgeUndeclaredCauses) {
  const HealthRules rules = made({temperature()}, {limited("*", {ValueLimit::Side::kAbove, 80, 70})});
  EXPECT_EQ(rules.find("Temperature", "").limit->limit, 80);
  EXPECT_EQ(rules.find("", ""), HealthRule());
}

TEST(HealthRulesTest, WithoutDeclarationsARuleTakesEachCauseThatItsGlobMatches) {
  HealthRuleConfig rule = written("Link*", "Down");
  rule.hold_down = 10s;
  const HealthRules rules = made({}, {rule});
  EXPECT_EQ(rules.find("LinkState", "Down").hold_down, 10s);
  EXPECT_EQ(rules.find("LinkState", "Slow").hold_down, 0s);
  EXPECT_EQ(rules.find("State", "Down").hold_down, 0s);
  EXPECT_THAT(listed(rules), ElementsAre("Link* Down c.toml:7:1", "* any built in"));
}

TEST(HealthRulesTest, AWrittenLimitMakesAStatementBadUnlessTheRuleSaysOtherwise) {
  EXPECT_EQ(made(declared(), {limited("Power", {ValueLimit::Side::kAbove, 300, 250}, "W")}).find("Power", "").severity,
            HealthState::kUnhealthy);
  EXPECT_EQ(
      made(declared(), {limited("Temperature", {ValueLimit::Side::kAbove, 80, 80})}).find("Temperature", "").severity,
      HealthState::kDegraded);
}

TEST(HealthRulesTest, ARuleMayUndoTheDeclaredQuarantineAndTime) {
  HealthRuleConfig calm = written("Xid");
  calm.relapses = 0;
  EXPECT_EQ(made(declared(), {calm}).find("Xid", "").relapses, 0u);
  EXPECT_EQ(made(declared(), {calm}).find("Xid", "").window, 0s);
  const HealthRules rules = made(declared(), {recovering("Xid", Recovery::kOperator)});
  EXPECT_EQ(rules.find("Xid", "").recovery, Recovery::kOperator);
  EXPECT_EQ(rules.find("Xid", "").recovery_time, 0s);
}

TEST(HealthRulesTest, TheListSaysWhichRuleJudgesEachCauseAndWhereItIsFrom) {
  const HealthRules rules =
      made(declared(), {written("Xid", "Xid31", 1), written("[TX]*", "", 2), written("*", "", 3)});
  EXPECT_THAT(
      listed(rules),
      ElementsAre("Xid Xid31 c.toml:1:1", "Temperature any c.toml:2:1", "Xid any c.toml:2:1", "Power any c.toml:3:1",
                  "Ecc any c.toml:3:1", "Temperature any declared by the module", "Power any declared by the module",
                  "Xid any declared by the module", "Ecc any declared by the module", "* any built in"));
  EXPECT_EQ(rules.all()[1].unit, "Cel");
  EXPECT_EQ(rules.all()[1].help, "The chip is too hot.");
}

TEST(HealthRulesTest, ACopyFindsItsOwnRules) {
  auto original = std::make_unique<HealthRules>(made(declared(), {}));
  const HealthRules copy = *original;
  original.reset();
  EXPECT_EQ(copy.find("Xid", "").recovery_time, 10min);
}

TEST(HealthRulesErrorTest, ACauseThatTheModuleDoesNotDeclare) {
  EXPECT_EQ(errors(declared(), {written("Temprature"), written("Fan*", "", 8)}),
            "c.toml:7:1: health rule for 'Temprature': the module declares no cause 'Temprature' (did you mean "
            "'Temperature'?)\n"
            "c.toml:8:1: health rule for 'Fan*': the module declares no cause 'Fan*'; it declares 'Temperature', "
            "'Power', 'Xid', 'Ecc'\n");
}

TEST(HealthRulesErrorTest, ALimitInAnotherUnit) {
  EXPECT_EQ(errors(declared(), {limited("Temperature", {ValueLimit::Side::kAbove, 80, 80}, "W")}),
            "c.toml:7:1: health rule for 'Temperature': cause 'Temperature' is measured in 'Cel', not in 'W'; write "
            "'above' in 'Cel'\n");
}

TEST(HealthRulesErrorTest, ALimitForACauseWithoutAValue) {
  const std::string expected =
      "c.toml:7:1: health rule for 'Ecc': cause 'Ecc' has no measured value, because the module declares no unit for "
      "it; remove 'below'\n";
  EXPECT_EQ(errors(declared(), {limited("Ecc", {ValueLimit::Side::kBelow, 1, 2})}), expected);
  EXPECT_EQ(errors({}, {limited("Ecc", {ValueLimit::Side::kBelow, 1, 2})}), expected);
}

TEST(HealthRulesErrorTest, AGlobThatTakesACauseWithoutAValueInAmongOthers) {
  EXPECT_EQ(errors(declared(), {limited("*", {ValueLimit::Side::kAbove, 80, 80})}),
            "c.toml:7:1: health rule for '*': cause 'Xid' has no measured value, because the module declares no unit "
            "for it; remove 'above'\n");
}

TEST(HealthRulesErrorTest, StableWithoutAValue) {
  HealthRuleConfig rule = recovering("Ecc", Recovery::kStable);
  rule.recovery_time = 1min;
  EXPECT_EQ(errors(declared(), {rule}),
            "c.toml:7:1: health rule for 'Ecc': cause 'Ecc' has no measured value that could be stable, because the "
            "module declares no unit for it; write recovery = \"silence\" or \"operator\"\n");
}

TEST(HealthRulesErrorTest, AnEventWhoseEndWouldHaveToBeReported) {
  EXPECT_EQ(errors(declared(), {recovering("Xid", Recovery::kReport)}),
            "c.toml:7:1: health rule for 'Xid': cause 'Xid' is an event, so the module never reports that it is over; "
            "write recovery = \"silence\" or \"operator\"\n");
}

TEST(HealthRulesErrorTest, ARecoveryWithoutATime) {
  EXPECT_EQ(errors(declared(), {recovering("Power", Recovery::kStable), recovering("Ecc", Recovery::kSilence)}),
            "c.toml:7:1: health rule for 'Power': recovery \"stable\" needs a time, and the module declares none for "
            "cause 'Power'; write recovery_time, like \"10m\"\n"
            "c.toml:7:1: health rule for 'Ecc': recovery \"silence\" needs a time, and the module declares none for "
            "cause 'Ecc'; write recovery_time, like \"10m\"\n");
  EXPECT_EQ(errors({}, {recovering("Link", Recovery::kSilence)}),
            "c.toml:7:1: health rule for 'Link': recovery \"silence\" needs a time, and the module declares none for "
            "cause 'Link'; write recovery_time, like \"10m\"\n");
}

TEST(HealthRulesErrorTest, NoTimeForADeclaredRecoveryThatNeedsOne) {
  HealthRuleConfig rule = written("Xid");
  rule.recovery_time = 0ms;
  EXPECT_EQ(errors(declared(), {rule}),
            "c.toml:7:1: health rule for 'Xid': cause 'Xid' would be over at once: recovery_time is 0s, and the module "
            "declares recovery \"silence\" for it; write a longer time, like \"10m\"\n");
}

TEST(HealthRulesErrorTest, AResetThatTheModuleCannotDo) {
  HealthRuleConfig rule = written("Ecc");
  rule.resets_per_day = 2;
  EXPECT_EQ(made(declared(), {rule}).find("Ecc", "").resets_per_day, 2u);
  EXPECT_EQ(errors(declared(), {rule}, false),
            "c.toml:7:1: health rule for 'Ecc': the module cannot reset devices, because it has no cage.reset; remove "
            "'remedy'\n");
}

TEST(HealthRulesErrorTest, ARuleThatEarlierOnesLeaveNothing) {
  EXPECT_EQ(errors(declared(), {written("Te*", "", 1), written("Temperature", "Hot", 2), written("Xid", "Xid31", 3),
                                written("Xid", "", 4)}),
            "c.toml:2:1: health rule for 'Temperature': it is never used, because the rule at c.toml:1:1 already "
            "decides 'Temperature'; remove one of the two, or put this one first\n");
}

TEST(HealthRulesErrorTest, ARuleIsNotBlamedForCausesThatAnEarlierOneTakes) {
  HealthRuleConfig rest = recovering("*", Recovery::kReport);
  EXPECT_THAT(errors(declared(), {written("Xid"), rest}), IsEmpty());
}

TEST(HealthRulesErrorTest, AllProblemsOfARuleAreReported) {
  HealthRuleConfig rule = limited("Ecc", {ValueLimit::Side::kAbove, 80, 80});
  rule.recovery = Recovery::kSilence;
  rule.resets_per_day = 1;
  const auto rules = HealthRules::make(declared(), false, {rule});
  ASSERT_FALSE(rules);
  EXPECT_EQ(rules.error().entries.size(), 3u);
}

}  // namespace
}  // namespace cardcage
