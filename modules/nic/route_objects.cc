#include "modules/nic/route_objects.h"

#include <linux/rtnetlink.h>

#include <cardcage/sdk.hpp>
#include <map>
#include <sstream>

#include "modules/common/text.h"

namespace cardcage::nic {
namespace {

// The members of an object. Each member is taken once.
class Members {
 public:
  Members(std::string_view item, std::string path) : path_(std::move(path)) {
    std::istringstream lines{std::string(item)};
    for (std::string line; std::getline(lines, line);) {
      const auto end = line.find('=');
      members_.emplace(line.substr(0, end), line.substr(end + 1));
    }
  }

  std::optional<Address> address(const char* name) {
    const auto text = take(name);
    if (!text) return std::nullopt;
    auto address = parse_address(*text);
    if (!address) refuse(name, "'" + *text + "' is not an address");
    return address;
  }
  // Returns 0 if the member is not given.
  std::uint32_t number(const char* name) {
    const std::string text = take(name).value_or("0");
    const auto number = hardware::number_of<std::uint32_t>(text);
    if (!number) refuse(name, "'" + text + "' is not a number");
    return *number;
  }
  // Must be called last: refuses members that were not taken.
  void finish() const {
    if (!members_.empty()) refuse(members_.begin()->first, "is not known here");
  }
  [[noreturn]] void refuse(const std::string& name, const std::string& reason) const {
    throw cage::Error(CAGE_INVALID_ARGUMENT, path_ + (name.empty() ? "" : "." + name) + ": " + reason);
  }

 private:
  // An empty text counts as not given.
  std::optional<std::string> take(const char* name) {
    auto node = members_.extract(name);
    return node.empty() || node.mapped().empty() ? std::nullopt : std::optional(std::move(node.mapped()));
  }

  const std::string path_;
  std::map<std::string, std::string> members_;
};

}  // namespace

bool is_object(std::string_view item) { return item.empty() || item.ends_with('\n'); }

Route route_of_object(std::string_view item, const std::string& path) {
  Members members(item, path);
  Route route;
  const auto destination = members.address("destination");
  if (!destination) members.refuse("destination", "write a network, such as 10.0.0.0/8 or 0.0.0.0/0");
  if (!is_network(*destination)) members.refuse("destination", "it has bits beyond its prefix; write the network");
  route.destination = *destination;
  route.gateway = members.address("gateway");
  route.source = members.address("source");
  route.table = members.number("table");
  const std::uint32_t scope = members.number("scope");
  if (scope != RT_SCOPE_UNIVERSE && scope != RT_SCOPE_LINK) members.refuse("scope", "write 0 (universe) or 253 (link)");
  if (scope == RT_SCOPE_LINK && route.gateway) members.refuse("gateway", "a route of scope 253 (link) has none");
  for (const auto& [name, other] : {std::pair("gateway", route.gateway), std::pair("source", route.source)})
    if (other && other->family != route.destination.family)
      members.refuse(name, "it is of another family than the destination");
  members.finish();
  return route;
}

Rule rule_of_object(std::string_view item, const std::string& path) {
  Members members(item, path);
  Rule rule;
  rule.from = members.address("source");
  rule.to = members.address("destination");
  rule.table = members.number("table");
  rule.priority = members.number("priority");
  members.finish();
  if (!rule.from && !rule.to) members.refuse("", "write a source or a destination");
  if (rule.from && rule.to && rule.from->family != rule.to->family)
    members.refuse("destination", "it is of another family than the source");
  if (rule.table == 0) members.refuse("table", "write the table that the rule chooses");
  return rule;
}

}  // namespace cardcage::nic
