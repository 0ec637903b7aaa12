#include "modules/nic/node_links.h"

#include <fnmatch.h>

#include <algorithm>

#include "modules/nic/netlink/links.h"
#include "modules/nic/netlink/objects.h"
#include "modules/nic/netlink/routes.h"

namespace cardcage::nic {

bool matches_any(const std::string& name, const std::vector<std::string>& patterns) {
  return std::ranges::any_of(
      patterns, [&name](const std::string& pattern) { return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0; });
}

NodeLinks::NodeLinks(const Choice& choice) : choice_(choice) {
  for (const std::string& name : interfaces_with_default_routes())
    in_use_.emplace(name, "it has a default route of the node");
  NetlinkSocket socket;
  std::map<std::uint32_t, std::string> names;
  const std::vector<Link> links = read_links(socket);
  for (const Link& link : links) names.emplace(link.index, link.name);
  for (const Link& link : links) {
    if (const auto master = names.find(link.master); master != names.end())
      in_use_.emplace(link.name, "it is a port of '" + master->second + "'");
    if (const auto lower = names.find(link.lower); lower != names.end())
      in_use_.emplace(lower->second, "'" + link.name + "' is made of it");
  }
  for (const auto& [index, address] : global_addresses(socket))
    if (const auto name = names.find(index); name != names.end() && !matches_any(name->second, choice.interfaces))
      in_use_.emplace(name->second, "it has the address " + to_string(address) +
                                        " on the node; the option 'interfaces' offers it all the same");
}

std::string NodeLinks::reason_to_keep(const std::string& name) const {
  if (matches_any(name, choice_.keep)) return "the option 'keep' names it";
  const auto reason = in_use_.find(name);
  return reason == in_use_.end() ? std::string() : reason->second;
}

}  // namespace cardcage::nic
