// The interfaces that the node itself lives on. Giving one away would cut the node off.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cardcage::nic {

// Why each interface must stay, by its name: those of `routed`, which carry default routes; those that match a pattern
// of `keep`, with * and ?; and those that such ones are made of.
std::map<std::string, std::string> interfaces_to_keep(const std::filesystem::path& sysfs,
                                                      const std::set<std::string>& routed,
                                                      const std::vector<std::string>& keep);

bool matches_any(const std::string& name, const std::vector<std::string>& patterns);

}  // namespace cardcage::nic
