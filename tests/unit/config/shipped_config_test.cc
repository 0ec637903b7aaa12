// The files below config/ are valid, and the reference names every key with its default.
#include <gmock/gmock.h>

#include "host/config/config.h"
#include "host/core/file.h"
#include "tests/fakes/source_folder.h"
#include "tests/unit/config/shipped_files.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Expects that every known key occurs in the shipped file.
TEST(ShippedConfigTest, TheReferenceIsValidAndNamesEveryKey) {
  const std::string text = shipped("config/cardcage.toml");
  const auto config = parse_config(text, "cardcage.toml", environment);
  ASSERT_TRUE(config) << config.error().to_string();
  for (const std::string& key : known_config_keys()) {
    const std::string word = key.substr(key.rfind('.') + 1);
    const bool table = key == word || key == "module.serve" || key == "module.health" || key == "module.attribute" ||
                       key == "module.options" || key.ends_with(".process") || key.ends_with(".limits") ||
                       word == "attributes";
    const std::string shape = word == "attributes"                          ? "attributes."
                              : table                                       ? key + "]"
                              : key.starts_with("module.serve.select.")     ? word + " = "
                              : key.starts_with("module.health.taint.")     ? word + " = "
                              : key.starts_with("module.attribute.select.") ? word + " = "
                                                                            : "\n" + word + " = ";
    EXPECT_THAT((std::string(text).insert(0, "\n")),
                ::testing::AnyOf(HasSubstr(shape), HasSubstr("\n#" + word + " = ")))
        << key;
  }
}

TEST(ShippedConfigTest, TheReferenceShowsTheDefaults) {
  std::string text = shipped("config/cardcage.toml");
  for (const std::string key :
       {"kubelet_root", "state_dir",      "run_dir",         "cdi_dir", "modules_dir", "admin_socket",
        "claims",       "numa_attribute", "request_timeout", "level",   "format",      "prepare",
        "unprepare",    "discover",       "start",           "stop",    "isolation",   "device_plugins_dir",
        "allocate",     "pre_start",      "module_call"}) {
    const auto at = text.find("\n#" + key + " = ");
    ASSERT_NE(at, std::string::npos) << key;
    text.erase(at + 1, 1);
  }
  const auto shown = parse_config(text, "cardcage.toml", environment);
  const auto defaults = parse_config(shipped("config/cardcage.toml"), "cardcage.toml", environment);
  ASSERT_TRUE(shown) << shown.error().to_string();
  EXPECT_EQ(shown->node.kubelet_root, defaults->node.kubelet_root);
  EXPECT_EQ(shown->node.state_dir, defaults->node.state_dir);
  EXPECT_EQ(shown->node.run_dir, defaults->node.run_dir);
  EXPECT_EQ(shown->node.cdi_dir, defaults->node.cdi_dir);
  EXPECT_EQ(shown->node.modules_dirs, defaults->node.modules_dirs);
  EXPECT_EQ(shown->node.admin_socket, defaults->node.admin_socket);
  EXPECT_EQ(shown->node.claims_folder, defaults->node.claims_folder);
  EXPECT_EQ(shown->node.numa_attribute, defaults->node.numa_attribute);
  EXPECT_EQ(shown->apiserver.request_timeout, defaults->apiserver.request_timeout);
  EXPECT_EQ(shown->log.level, defaults->log.level);
  EXPECT_EQ(shown->log.format, defaults->log.format);
  EXPECT_EQ(shown->deadlines.prepare, defaults->deadlines.prepare);
  EXPECT_EQ(shown->deadlines.unprepare, defaults->deadlines.unprepare);
  EXPECT_EQ(shown->deadlines.discover, defaults->deadlines.discover);
  EXPECT_EQ(shown->deadlines.start, defaults->deadlines.start);
  EXPECT_EQ(shown->deadlines.stop, defaults->deadlines.stop);
  EXPECT_EQ(shown->node.device_plugins_dir, defaults->node.device_plugins_dir);
  EXPECT_EQ(shown->deadlines.allocate, defaults->deadlines.allocate);
  EXPECT_EQ(shown->deadlines.pre_start, defaults->deadlines.pre_start);
  EXPECT_EQ(shown->deadlines.module_call, defaults->deadlines.module_call);
  EXPECT_EQ(shown->modules, defaults->modules);
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
