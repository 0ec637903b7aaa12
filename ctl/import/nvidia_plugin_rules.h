// The [[module.serve]] rules that offer the resources of NVIDIA's device plugin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ctl/import/nvidia.h"

namespace cardcage {

struct PluginRule {
  std::string resource, from;  // `from`: the source setting
  std::string shared_name;     // name before sharing; empty unless the resource is shared
  // Conditions; an empty kind or pattern takes every device. The pattern is of the attribute.
  std::string kind, attribute, pattern;
  std::uint32_t replicas = 1;
  std::string replicas_from, fails_from;  // fails_from: refuses requests for more than one, because of this setting
};

// The rules in the order in which they take devices. Each resource has one rule.
class PluginRules {
 public:
  explicit PluginRules(ImportRecord& record) : record_(record) {}

  // Leaves out a rule that no device can reach. A rule that takes more devices than the previous one for the same
  // resource replaces it. `place` is the setting that requests the rule, for an error about an impossible rule.
  void add(PluginRule rule, const Given<std::string>& place);
  // Adds the rules of the MIG strategy itself, after the entries of resources.gpus and resources.migs.
  void add_strategy(const Given<std::string>& strategy, std::vector<SettingMap> gpus, std::vector<SettingMap> migs);
  // Reads one entry of sharing.timeSlicing.resources.
  void share(SettingMap entry, const GivenBool& rename, const GivenBool& fails);

  std::vector<std::vector<TomlLine>> lines(const GivenText& delivery, const GivenText& placement) const;
  // Returns the entries of the option label_replicas, as TOML: "gpu=4", "gpu=4 renamed".
  std::vector<std::string> replicas_for_labels() const;

 private:
  void add_patterns(std::vector<SettingMap> entries, const std::string& kind, const std::string& attribute);
  bool take_all(const std::string& kind) const;
  std::vector<PluginRule>::iterator find(const std::string& resource);
  // Returns the rule of a shared resource; makes it if it is one that a template offers.
  PluginRule* rule_to_share(const Given<std::string>& name);
  void rename(PluginRule& rule, const Given<std::string>& to, const std::string& resource);

  ImportRecord& record_;
  std::vector<PluginRule> rules_;
};

}  // namespace cardcage
