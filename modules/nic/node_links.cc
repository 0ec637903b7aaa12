#include "modules/nic/node_links.h"

#include <fnmatch.h>

#include <algorithm>

#include "modules/nic/netdev.h"

namespace cardcage::nic {

bool matches_any(const std::string& name, const std::vector<std::string>& patterns) {
  return std::ranges::any_of(
      patterns, [&name](const std::string& pattern) { return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0; });
}

std::map<std::string, std::string> interfaces_to_keep(const std::filesystem::path& sysfs,
                                                      const std::set<std::string>& routed,
                                                      const std::vector<std::string>& keep) {
  std::map<std::string, std::string> reasons;
  std::vector<std::string> open;
  const auto add = [&](const std::string& name, const std::string& reason) {
    if (reasons.try_emplace(name, reason).second) open.push_back(name);
  };
  for (const std::string& name : interfaces_of(sysfs)) {
    if (routed.contains(name)) add(name, "it has a default route of the node");
    if (matches_any(name, keep)) add(name, "the option 'keep' names it");
  }
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    for (const std::string& lower : lower_interfaces_of(sysfs, name))
      add(lower, "'" + name + "' is made of it: " + reasons.at(name));
  }
  return reasons;
}

}  // namespace cardcage::nic
