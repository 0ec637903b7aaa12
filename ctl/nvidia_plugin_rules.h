// The [[module.serve]] rules that offer what NVIDIA's device plugin offers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ctl/nvidia_import.h"

namespace cardcage {

struct PluginRule {
  std::string resource, from;  // `from`: the setting that it comes from
  std::string shared_name;     // once it is shared: the resource before that
  // Conditions; an empty kind or pattern takes every device. The pattern is of the attribute.
  std::string kind, attribute, pattern;
  std::uint32_t replicas = 1;
  std::string replicas_from, fails_from;  // fails_from: refuses requests for more than one, because of this setting
};

// The rules in the order in which they take devices. No two offer the same resource.
class PluginRules {
 public:
  explicit PluginRules(ImportRecord& record) : record_(record) {}

  // Leaves out a rule that no device reaches. One that takes more than the rule before it, for the same resource,
  // replaces that one. `place` is the setting that asks for the rule, for a message if there can be no such rule.
  void add(PluginRule rule, const Given<std::string>& place);
  // Adds what the MIG strategy offers by itself, behind the entries of resources.gpus and resources.migs.
  void add_strategy(const Given<std::string>& strategy, std::vector<SettingMap> gpus, std::vector<SettingMap> migs);
  // One entry of sharing.timeSlicing.resources.
  void share(SettingMap entry, const GivenBool& rename, const GivenBool& fails);

  std::vector<std::vector<TomlLine>> lines(const GivenText& delivery, const GivenText& placement) const;
  // Entries of the option label_replicas, as TOML: "gpu=4", "gpu=4 renamed".
  std::vector<std::string> replicas_for_labels() const;

 private:
  void add_patterns(std::vector<SettingMap> entries, const std::string& kind, const std::string& attribute);
  bool take_all(const std::string& kind) const;
  std::vector<PluginRule>::iterator find(const std::string& resource);
  // The rule that a shared resource stands for; made if it is one of those that a template offers.
  PluginRule* rule_to_share(const Given<std::string>& name);
  void rename(PluginRule& rule, const Given<std::string>& to, const std::string& resource);

  ImportRecord& record_;
  std::vector<PluginRule> rules_;
};

}  // namespace cardcage
