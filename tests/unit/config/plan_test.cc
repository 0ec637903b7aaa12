#include "host/config/plan.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = ModuleChange::Kind;

Config valid_config(const std::string& text) {
  const auto config = parse_config("[node]\nname = \"node1\"\n" + text, "t.toml");
  EXPECT_TRUE(config) << (config ? "" : config.error().to_string());
  return config.value_or(Config{});
}

std::string module(const std::string& name, const std::string& rest = "", const std::string& rule = "") {
  return "[[module]]\nname = \"" + name + "\"\npath = \"lib" + name + ".so\"\n" + rest +
         "[[module.serve]]\ndriver = \"" + name + ".example.com\"\n" + rule;
}

ConfigPlan plan(const std::string& before, const std::string& after) {
  return plan_change(valid_config(before), valid_config(after));
}

TEST(PlanTest, AnEquivalentFileNeedsNoChange) {
  const ConfigPlan none = plan(module("gpu"), "# moved down\n\n" + module("gpu"));
  EXPECT_EQ(none, ConfigPlan{});
  EXPECT_TRUE(none.empty());
  EXPECT_THAT(steps(none), IsEmpty());
}

TEST(PlanTest, ModulesComeAndGoWithTheirDrivers) {
  const ConfigPlan change = plan(module("gpu") + module("nic"), module("fpga") + module("gpu"));
  EXPECT_THAT(change.modules,
              ElementsAre(ModuleChange{Kind::kAdded, "fpga", "", {}}, ModuleChange{Kind::kRemoved, "nic", "nic", {}}));
  EXPECT_THAT(change.come, ElementsAre(ServedName{Api::kDra, "fpga.example.com"}));
  EXPECT_THAT(change.go, ElementsAre(ServedName{Api::kDra, "nic.example.com"}));
  EXPECT_THAT(change.affected, ElementsAre("fpga.example.com", "nic.example.com")) << "not those of gpu";
  EXPECT_FALSE(change.empty());
}

TEST(PlanTest, OnlyTheModuleThatDiffersGetsANewInstanceAndTheKeysAreNamed) {
  const ConfigPlan change =
      plan(module("gpu", "[module.options]\nmode = \"a\"\nold = 1\n") + module("nic"),
           module("gpu", "isolation = \"in-process\"\n[module.options]\nmode = \"b\"\nnew = 1\n") + module("nic"));
  EXPECT_THAT(change.modules,
              ElementsAre(ModuleChange{
                  Kind::kReplaced, "gpu", "gpu", {"isolation", "options.mode", "options.new", "options.old"}}));
  EXPECT_THAT(change.come, IsEmpty());
}

TEST(PlanTest, WhatAModuleMayDoIsNamed) {
  const std::string lists =
      "programs = [\"/usr/bin/a\"]\nwrites = [\"/sys/a/*\"]\ndevice_nodes = [\"/dev/a*\"]\nmounts = [\"/usr/a\"]\n"
      "hooks = [\"/usr/h\"]\nnet_devices = [\"a*\"]\ngroups = [44]\nenv = [\"A\"]\n";
  const ConfigPlan change = plan(module("gpu"), module("gpu", lists));
  EXPECT_THAT(change.modules, ElementsAre(ModuleChange{Kind::kReplaced,
                                                       "gpu",
                                                       "gpu",
                                                       {"programs", "writes", "device_nodes", "mounts", "hooks",
                                                        "net_devices", "groups", "env"}}));
  EXPECT_THAT(plan(module("gpu"), module("gpu", "mounts = []\n")).modules,
              ElementsAre(ModuleChange{Kind::kReplaced, "gpu", "gpu", {"mounts"}}))
      << "an empty list differs from no list";
}

TEST(PlanTest, ChangedRulesNeedNoNewInstance) {
  const ConfigPlan change = plan(module("gpu", "", "pool = \"a\"\n"), module("gpu", "", "pool = \"b\"\n"));
  EXPECT_THAT(change.modules, ElementsAre(ModuleChange{Kind::kServed, "gpu", "gpu", {"serve"}}));
}

TEST(PlanTest, ChangedRulesOfHealthNeedNoNewInstance) {
  const std::string rule = "[[module.health]]\ncause = \"Xid\"\n";
  const std::string after = module("gpu", rule + "severity = \"ok\"\n");
  const ConfigPlan change = plan(module("gpu", rule), after);
  EXPECT_THAT(change.modules, ElementsAre(ModuleChange{Kind::kServed, "gpu", "gpu", {"health"}}));
  ASSERT_EQ(steps(change).size(), 1u);
  EXPECT_EQ(steps(change)[0].detail, "other rules for the same instance");
  EXPECT_THAT(plan(module("gpu"), after).modules, ElementsAre(ModuleChange{Kind::kServed, "gpu", "gpu", {"health"}}));
  EXPECT_THAT(plan(after, after), ConfigPlan{});
}

TEST(PlanTest, ChangedAttributesNeedNoNewInstance) {
  const std::string rule = "[[module.attribute]]\nname = \"example.com/rail\"\n";
  const ConfigPlan change = plan(module("gpu", rule + "value = 3\n"), module("gpu", rule + "value = 4\n"));
  EXPECT_THAT(change.modules, ElementsAre(ModuleChange{Kind::kServed, "gpu", "gpu", {"attribute"}}));
}

TEST(PlanTest, RulesThatChangeWithOptionsComeWithThem) {
  const ConfigPlan change = plan(module("gpu", "options.mode = \"a\"\n"),
                                 module("gpu", "options.mode = \"b\"\n[[module.health]]\ncause = \"Xid\"\n"));
  EXPECT_THAT(change.modules, ElementsAre(ModuleChange{Kind::kReplaced, "gpu", "gpu", {"options.mode", "health"}}));
  EXPECT_THAT(steps(change)[0].detail, ::testing::HasSubstr("(none for live options)"));
}

TEST(PlanTest, ARenamedModuleIsReplacedNotRemoved) {
  const std::string before = module("gpu"),
                    after = "[[module]]\nname = \"nvidia\"" + before.substr(before.find("\npath"));
  EXPECT_THAT(plan(before, after).modules, ElementsAre(ModuleChange{Kind::kReplaced, "nvidia", "gpu", {"name"}}));
  const std::string twice =
      after + "[[module]]\nname = \"amd\"\npath = \"libgpu.so\"\n[[module.serve]]\ndriver = \"d\"\n";
  EXPECT_THAT(plan(before, twice).modules, ElementsAre(ModuleChange{Kind::kReplaced, "nvidia", "gpu", {"name"}},
                                                       ModuleChange{Kind::kAdded, "amd", "", {}}))
      << "only one of them renames the old module";
}

TEST(PlanTest, ARenamedModuleWithOtherOptionsIsAnotherModule) {
  const std::string before = module("gpu");
  const std::string after =
      "[[module]]\nname = \"nvidia\"\npath = \"libgpu.so\"\noptions.mode = \"a\"\n[[module.serve]]\ndriver = \"d\"\n";
  EXPECT_THAT(plan(before, after).modules, ElementsAre(ModuleChange{Kind::kAdded, "nvidia", "", {}},
                                                       ModuleChange{Kind::kRemoved, "gpu", "gpu", {}}));
}

TEST(PlanTest, KeysThatNeedARestartAreSeparateFromSettings) {
  const Config running = valid_config("");
  const auto wanted = parse_config(
      "[node]\nname = \"node2\"\nkubelet_root = \"/k\"\nnuma_attribute = \"list\"\nfeatures_dir = \"\"\nsysfs_root = "
      "\"/s\"\n"
      "services_cgroup = \"/c\"\nnri_socket = \"\"\n[apiserver]\nrequest_timeout = "
      "\"3s\"\n"
      "[log]\nlevel = \"debug\"\n[metrics]\nlisten = \"\"\n[deadlines]\nstart = \"7s\"\n",
      "t.toml");
  ASSERT_TRUE(wanted);
  const ConfigPlan change = plan_change(running, *wanted);
  EXPECT_THAT(change.settings, ElementsAre("log.level", "metrics.listen", "deadlines.start"));
  EXPECT_THAT(change.restart,
              ElementsAre("node.name", "node.kubelet_root", "node.services_cgroup", "node.nri_socket",
                          "node.features_dir", "node.numa_attribute", "node.sysfs_root", "apiserver.request_timeout"));

  const Config next = effective_config(running, *wanted);
  EXPECT_EQ(next.node.name, "node1");
  EXPECT_EQ(next.log.level, LogLevel::kDebug);
  EXPECT_THAT(plan_change(next, *wanted).restart, change.restart) << "until the daemon restarts";
  EXPECT_TRUE(plan_change(next, *wanted).empty());
}

TEST(PlanTest, EveryStepIsDescribed) {
  std::vector<std::string> lines;
  for (const PlanStep& step : steps(
           plan(module("gpu") + module("nic"), module("gpu", "options.mode = \"a\"\n") + "[log]\nlevel = \"warn\"\n")))
    lines.push_back(fmt::format("{} | {} | {}", step.subject, to_string(step.action), step.detail));
  EXPECT_THAT(
      lines,
      ElementsAre("module gpu | replace | new instance (none for live options), since options.mode differs",
                  "module nic | remove | drains; removed when no claim holds its devices",
                  "driver nic.example.com | remove | removed when no claim holds its devices", "log.level | set | "));
}

}  // namespace
}  // namespace cardcage
