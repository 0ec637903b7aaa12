// [[module.health]]; the errors are in tests/golden/config/health*.toml.
#include <gmock/gmock.h>

#include "host/config/config.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::SizeIs;
using Side = ValueLimit::Side;

std::expected<Config, ConfigErrors> parse_rules(const std::string& rules) {
  return parse_config(
      "[node]\nname = \"node1\"\n[[module]]\nname = \"gpu\"\npath = \"libgpu.so\"\nserve = [{ driver = \"d\" }]\n" +
          rules,
      "t.toml");
}

std::vector<HealthRuleConfig> accepted_rules(const std::string& rules) {
  const auto config = parse_rules(rules);
  EXPECT_TRUE(config) << (config ? "" : config.error().to_string());
  return config ? config->modules.at(0).health : std::vector<HealthRuleConfig>();
}

HealthRuleConfig rule(const std::string& keys) {
  const auto rules = accepted_rules("[[module.health]]\ncause = \"Any\"\n" + keys);
  return rules.empty() ? HealthRuleConfig() : rules.front();
}

TEST(HealthRuleConfigTest, EveryKeyArrivesWhereItBelongs) {
  const auto rules = accepted_rules(R"(
[[module.health]]
cause = "Temp*"
reason = "Hot?"
above = "90.5 Cel"
clear_at = "80 Cel"
severity = "degraded"
hold_down = "5s"
recovery = "stable"
recovery_time = "10m"
relapses = 3
window = "1h"
taint = { key = "example.com/hot", value = "Hot", effect = "NoExecute" }
kubelet = "unknown"
remedy = "reset"
resets_per_day = 2
)");
  ASSERT_THAT(rules, SizeIs(1));
  const HealthRuleConfig& all = rules[0];
  EXPECT_EQ(all.cause, "Temp*");
  EXPECT_EQ(all.reason, "Hot?");
  EXPECT_EQ(all.limit, (HealthRuleConfig::Limit{{Side::kAbove, 90.5, 80}, "Cel"}));
  EXPECT_EQ(all.severity, HealthState::kDegraded);
  EXPECT_EQ(all.hold_down, 5s);
  EXPECT_EQ(all.recovery, Recovery::kStable);
  EXPECT_EQ(all.recovery_time, 10min);
  EXPECT_EQ(all.relapses, 3u);
  EXPECT_EQ(all.window, 1h);
  EXPECT_EQ(all.taint, (TaintRule{TaintEffect::kNoExecute, "example.com/hot", "Hot"}));
  EXPECT_EQ(all.kubelet, KubeletHealth::kUnknown);
  EXPECT_EQ(all.resets_per_day, 2u);
  EXPECT_EQ(all.position.to_string(), "t.toml:8:1");
}

TEST(HealthRuleConfigTest, WhatIsNotWrittenIsLeftOpen) {
  HealthRuleConfig nothing;
  nothing.cause = "Any";
  EXPECT_EQ(rule(""), nothing);
  EXPECT_EQ(rule("reason = \"*\""), nothing) << "the same as no reason";
}

TEST(HealthRuleConfigTest, ALimitMayLeaveOutItsUnitAndItsEnd) {
  EXPECT_EQ(rule("above = 90").limit, (HealthRuleConfig::Limit{{Side::kAbove, 90, 90}, ""}));
  EXPECT_EQ(rule("below = 7.5").limit, (HealthRuleConfig::Limit{{Side::kBelow, 7.5, 7.5}, ""}));
  EXPECT_EQ(rule("below = \"-4e1 Cel\"\nclear_at = -30").limit,
            (HealthRuleConfig::Limit{{Side::kBelow, -40, -30}, "Cel"}));
  EXPECT_EQ(rule("above = 90\nclear_at = \"85 Cel\"").limit, (HealthRuleConfig::Limit{{Side::kAbove, 90, 85}, "Cel"}));
  EXPECT_EQ(rule("below = \"8 1\"").limit, (HealthRuleConfig::Limit{{Side::kBelow, 8, 8}, "1"}));
}

TEST(HealthRuleConfigTest, EachWordHasItsMeaning) {
  const auto severity = [](const std::string& word) { return rule("severity = \"" + word + "\"").severity; };
  EXPECT_EQ(severity("ok"), HealthState::kHealthy);
  EXPECT_EQ(severity("unmonitored"), HealthState::kUnmonitored);
  EXPECT_EQ(severity("bad"), HealthState::kUnhealthy);
  const auto recovery = [](const std::string& word) { return rule("recovery = \"" + word + "\"").recovery; };
  EXPECT_EQ(recovery("report"), Recovery::kReport);
  EXPECT_EQ(recovery("silence"), Recovery::kSilence);
  EXPECT_EQ(recovery("operator"), Recovery::kOperator);
  const auto kubelet = [](const std::string& word) { return rule("kubelet = \"" + word + "\"").kubelet; };
  EXPECT_EQ(kubelet("healthy"), KubeletHealth::kHealthy);
  EXPECT_EQ(kubelet("unhealthy"), KubeletHealth::kUnhealthy);
  const auto taint = [](const std::string& word) { return rule("taint.effect = \"" + word + "\"").taint; };
  EXPECT_EQ(taint("none"), TaintRule{});
  EXPECT_EQ(taint("None"), TaintRule{TaintEffect::kInform});
  EXPECT_EQ(taint("NoSchedule"), TaintRule{TaintEffect::kNoSchedule});
}

TEST(HealthRuleConfigTest, ARemedyResetsOnceADayUnlessTheRuleSaysMore) {
  EXPECT_EQ(rule("remedy = \"reset\"").resets_per_day, 1u);
}

TEST(HealthRuleConfigTest, NoRelapsesNeedNoWindow) { EXPECT_EQ(rule("relapses = 0").relapses, 0u); }

TEST(HealthRuleConfigTest, ARuleThatTakesOnlySomeOfWhatALaterOneTakesHidesNothing) {
  EXPECT_THAT(
      accepted_rules("[[module.health]]\ncause = \"Te?p\"\n[[module.health]]\ncause = \"Te*p\"\n"
                     "[[module.health]]\ncause = \"X*\"\nreason = \"Xid1*\"\n[[module.health]]\ncause = \"Xid\"\n"
                     "[[module.health]]\ncause = \"*\"\n"),
      SizeIs(5));
}

TEST(HealthRuleConfigTest, AModuleHasAtMost64Rules) {
  std::string text;
  for (int i = 0; i < 64; ++i) text += fmt::format("[[module.health]]\ncause = \"C{}\"\n", i);
  EXPECT_THAT(accepted_rules(text), SizeIs(64));
  const auto config = parse_rules(text + "[[module.health]]\ncause = \"Last\"\n[[module.health]]\ncause = 1\n");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().to_string(),
            "t.toml:135:1: module.health: a module has at most 64 rules; join some with * in their cause or reason\n");
}

TEST(HealthRuleConfigTest, RulesThatMoveInTheFileAreTheSame) {
  EXPECT_EQ(rule("relapses = 0"),
            accepted_rules("# moved\n\n[[module.health]]\nrelapses = 0\ncause = \"Any\"\n").front());
  EXPECT_NE(rule("relapses = 0"), rule("relapses = 1\nwindow = \"1h\""));
}

}  // namespace
}  // namespace cardcage
