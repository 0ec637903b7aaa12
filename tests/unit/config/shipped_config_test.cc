// The files below config/ are valid, and the reference names every key with its default.
#include <gmock/gmock.h>

#include <regex>
#include <set>
#include <sstream>

#include "host/config/plan.h"
#include "host/core/file.h"
#include "tests/fakes/source_folder.h"
#include "tests/unit/config/shipped_files.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Returns the reference with every key; a line of prose has a space after its '#'.
std::string reference_with_every_key() {
  return std::regex_replace(shipped("config/cardcage.toml"), std::regex("(^|\n)#(?=[^ \n])"), "$1");
}

// Returns the keys on the lines of a file, those of inline tables, too: "module.health.taint.key".
std::set<std::string> keys_in(const std::string& text) {
  static const std::regex header(R"(^\[+([a-z_.]+)\])"), line_with_key(R"(^(# select|[a-z0-9_]+) = )"),
      key(R"(([a-z][a-z0-9_]*)(\.[a-z]+)? = )");
  std::set<std::string> keys;
  std::string section;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_search(line, found, header)) keys.insert(section = found[1]);
    if (!std::regex_search(line, line_with_key)) continue;
    std::string prefix = section;
    for (std::sregex_iterator at(line.begin(), line.end(), key), end; at != end; ++at) {
      keys.insert(prefix + "." + at->str(1));
      if (prefix == section) prefix += "." + at->str(1);
    }
  }
  return keys;
}

// The conditions of select are the same in [[module.attribute]] and [[module.serve]], and are shown in the latter.
std::set<std::string> without_repetitions(std::set<std::string> keys) {
  std::erase_if(keys, [](const std::string& key) { return key.starts_with("module.attribute.select."); });
  return keys;
}

TEST(ShippedConfigTest, TheReferenceNamesEveryKeyAndNoOther) {
  const auto list = known_config_keys();
  const auto known = without_repetitions({list.begin(), list.end()});
  const auto shown = without_repetitions(keys_in(reference_with_every_key()));
  EXPECT_THAT(without(known, shown), IsEmpty()) << "are missing";
  EXPECT_THAT(without(shown, known), IsEmpty()) << "are not keys";
}

// The exceptions are keys without a default of their own, and lists of rules.
TEST(ShippedConfigTest, TheReferenceShowsTheDefaults) {
  const auto defaults = parse_config(shipped("config/cardcage.toml"), "cardcage.toml", environment);
  const auto shown = parse_config(reference_with_every_key(), "cardcage.toml", environment);
  ASSERT_TRUE(defaults) << defaults.error().to_string();
  ASSERT_TRUE(shown) << shown.error().to_string();
  const ConfigPlan plan = plan_change(*defaults, *shown);
  EXPECT_THAT(plan.settings, IsEmpty());
  EXPECT_THAT(plan.restart, ElementsAre("node.hooks_dir", "node.services_cgroup", "apiserver.kubeconfig"));
  ASSERT_EQ(plan.modules.size(), 1u);
  EXPECT_THAT(plan.modules[0].keys, ElementsAre("process", "device_nodes", "mounts", "hooks", "net_devices", "groups",
                                                "env", "health", "attribute", "serve"));
}

TEST(ShippedConfigTest, TheReferenceShowsHealthRulesThatAreValid) {
  std::string text = shipped("config/cardcage.toml");
  const auto begin = text.find("\n#[[module.health]]"), end = text.find("\n# Attributes of your own", begin);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  std::string rules = text.substr(begin, end - begin);
  for (auto at = rules.find("\n#"); at != std::string::npos; at = rules.find("\n#", at)) rules.erase(at + 1, 1);
  const auto config = parse_config(text.replace(begin, end - begin, rules), "cardcage.toml", environment);
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->modules.at(0).health.size(), 3u);
}

// The block of the device-plugin rule is the last one of the file.
TEST(ShippedConfigTest, TheReferenceShowsAResourceWithItsDefaults) {
  std::string text = shipped("config/cardcage.toml");
  const auto block = text.find("\n#[[module.serve]]\n#api = \"device-plugin\"");
  ASSERT_NE(block, std::string::npos);
  for (auto at = block; at != std::string::npos; at = text.find("\n#", at)) text.erase(at + 1, 1);
  const auto config = parse_config(text, "cardcage.toml", environment);
  ASSERT_TRUE(config) << config.error().to_string();
  const ServeConfig& rule = config->modules.at(0).serve.at(1);
  EXPECT_EQ(rule.api, Api::kDevicePlugin);
  EXPECT_EQ(rule.plugin, ResourceConfig{});
}

// With systemd's defaults, a stop would kill the workers in the middle of their calls, and one worker that the kernel
// ends for its memory would end the daemon.
TEST(ShippedConfigTest, TheUnitLeavesTheWorkersToTheDaemon) {
  const std::string unit = shipped("config/cardcage.service");
  EXPECT_THAT(unit, HasSubstr("\nKillMode=process\n"));
  EXPECT_THAT(unit, HasSubstr("\nOOMPolicy=continue\n"));
}

TEST(ShippedConfigTest, TheUnitLetsTheDaemonMakeControlGroups) {
  const std::string unit = shipped("config/cardcage.service");
  EXPECT_THAT(unit, HasSubstr("\nDelegate=yes\n"));
  EXPECT_THAT(unit, Not(HasSubstr("\nProtectControlGroups=")));
}

// 15 s for the calls, a start that has just begun, and the stop of that module.
TEST(ShippedConfigTest, TheDaemonHasTheTimeThatItNeedsToStop) {
  const DeadlineConfig defaults;
  const auto needed = std::chrono::seconds(15) + defaults.start + defaults.stop;
  ASSERT_LT(needed, std::chrono::seconds(60));
  EXPECT_THAT(shipped("config/cardcage.service"), HasSubstr("\nTimeoutStopSec=60s\n"));
  EXPECT_THAT(shipped("charts/cardcage/templates/daemonset.yaml"),
              HasSubstr("\n      terminationGracePeriodSeconds: 60\n"));
}

TEST(ShippedConfigTest, TheOtherFilesAreValidToo) {
  for (const std::string file : {"config/demo.toml", "config/demo-nvidia.toml"}) {
    const auto config = parse_config(shipped(file), file, environment);
    EXPECT_TRUE(config) << config.error().to_string();
  }
}

}  // namespace
}  // namespace cardcage
