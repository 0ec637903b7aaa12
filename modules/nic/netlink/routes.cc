#include "modules/nic/netlink/routes.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <sstream>
#include <system_error>
#include <vector>

#include "modules/common/text.h"
#include "modules/nic/netlink/socket.h"

namespace cardcage::nic {
namespace {

// Adds the interfaces of a route with several next hops: a list of structs, which have attributes of their own.
void add_hops(const nlattr& attribute, std::set<std::uint32_t>& found) {
  const auto* const first = static_cast<const char*>(mnl_attr_get_payload(&attribute));
  int left = mnl_attr_get_payload_len(&attribute);
  // RTNH_OK reads a hop before it compares its length with the bytes that are left.
  for (const auto* hop = reinterpret_cast<const rtnexthop*>(first);
       left >= static_cast<int>(sizeof *hop) && RTNH_OK(hop, left);
       left -= RTNH_ALIGN(hop->rtnh_len), hop = RTNH_NEXT(hop))
    found.insert(static_cast<std::uint32_t>(hop->rtnh_ifindex));
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool read_number(const std::string& text, std::uint32_t& number) {
  number = hardware::number_of<std::uint32_t>(text).value_or(0);
  return number > 0;
}

bool read_address(const std::string& text, std::optional<Address>& address) {
  address = parse_address(text);
  return address.has_value();
}

void put(nlmsghdr& message, std::uint16_t type, const std::optional<Address>& address) {
  if (address) mnl_attr_put(&message, type, address->size(), address->bytes.data());
}

// Ignores an object that exists: another claim wanted the same, or the host repeats the call.
template <class Add>
void add_once(Add add) {
  try {
    add();
  } catch (const std::system_error& error) {
    if (error.code().value() != EEXIST) throw;
  }
}

}  // namespace

bool is_network(const Address& address) {
  for (std::size_t bit = address.prefix; bit < address.size() * 8; ++bit)
    if ((address.bytes[bit / 8] >> (7 - bit % 8) & 1) != 0) return false;
  return true;
}

std::optional<Route> parse_route(std::string_view text) {
  const std::vector<std::string> words = words_of(text);
  if (words.size() % 2 == 0) return std::nullopt;
  Route route;
  for (std::size_t i = 1; i < words.size(); i += 2) {
    const std::string& value = words[i + 1];
    const bool good = (words[i] == "via" && !route.gateway && read_address(value, route.gateway)) ||
                      (words[i] == "src" && !route.source && read_address(value, route.source)) ||
                      (words[i] == "table" && route.table == 0 && read_number(value, route.table)) ||
                      (words[i] == "metric" && route.metric == 0 && read_number(value, route.metric));
    if (!good) return std::nullopt;
  }
  if (words[0] == "default") {
    if (!route.gateway && !route.source) return std::nullopt;  // it could be IPv4 or IPv6
    route.destination.family = (route.gateway ? route.gateway : route.source)->family;
  } else if (const auto destination = parse_address(words[0]); destination && is_network(*destination)) {
    route.destination = *destination;
  } else {
    return std::nullopt;
  }
  for (const auto& other : {route.gateway, route.source})
    if (other && other->family != route.destination.family) return std::nullopt;
  return route;
}

void add_route(NetlinkSocket& socket, std::uint32_t index, const Route& route) {
  const auto build = [&](nlmsghdr& message) {
    auto& header = *static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(&message, sizeof(rtmsg)));
    header.rtm_family = route.destination.family;
    header.rtm_dst_len = route.destination.prefix;
    header.rtm_protocol = RTPROT_STATIC;
    header.rtm_scope = route.gateway || header.rtm_family == AF_INET6 ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
    header.rtm_type = RTN_UNICAST;
    if (route.is_on_link) header.rtm_flags = RTNH_F_ONLINK;
    if (route.destination.prefix > 0) put(message, RTA_DST, route.destination);
    put(message, RTA_GATEWAY, route.gateway);
    put(message, RTA_PREFSRC, route.source);
    mnl_attr_put_u32(&message, RTA_OIF, index);
    mnl_attr_put_u32(&message, RTA_TABLE, route.table != 0 ? route.table : RT_TABLE_MAIN);
    if (route.metric != 0) mnl_attr_put_u32(&message, RTA_PRIORITY, route.metric);
  };
  add_once([&] { socket.change(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, build); });
}

std::optional<Rule> parse_rule(std::string_view text) {
  const std::vector<std::string> words = words_of(text);
  if (words.empty() || words.size() % 2 != 0) return std::nullopt;
  Rule rule;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string& value = words[i + 1];
    const bool good = (words[i] == "from" && !rule.from && read_address(value, rule.from)) ||
                      (words[i] == "to" && !rule.to && read_address(value, rule.to)) ||
                      (words[i] == "table" && rule.table == 0 && read_number(value, rule.table)) ||
                      (words[i] == "priority" && rule.priority == 0 && read_number(value, rule.priority));
    if (!good) return std::nullopt;
  }
  if (rule.table == 0 || (!rule.from && !rule.to)) return std::nullopt;
  if (rule.from && rule.to && rule.from->family != rule.to->family) return std::nullopt;
  return rule;
}

void add_rule(NetlinkSocket& socket, const Rule& rule) {
  const auto build = [&](nlmsghdr& message) {
    auto& header = *static_cast<fib_rule_hdr*>(mnl_nlmsg_put_extra_header(&message, sizeof(fib_rule_hdr)));
    header.family = (rule.from ? rule.from : rule.to)->family;
    header.src_len = rule.from ? rule.from->prefix : 0;
    header.dst_len = rule.to ? rule.to->prefix : 0;
    header.action = FR_ACT_TO_TBL;
    put(message, FRA_SRC, rule.from);
    put(message, FRA_DST, rule.to);
    mnl_attr_put_u32(&message, FRA_TABLE, rule.table);
    if (rule.priority != 0) mnl_attr_put_u32(&message, FRA_PRIORITY, rule.priority);
  };
  add_once([&] { socket.change(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, build); });
}

std::set<std::string> interfaces_with_default_routes() {
  std::set<std::uint32_t> found;
  NetlinkSocket socket;
  for (const int family : {AF_INET, AF_INET6})
    socket.dump(RTM_GETROUTE, static_cast<std::uint8_t>(family), [&found](const nlmsghdr& message) {
      const auto* const route = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(&message));
      if (message.nlmsg_type != RTM_NEWROUTE || route->rtm_dst_len != 0 || route->rtm_type != RTN_UNICAST) return;
      for_each_attribute(message, sizeof(rtmsg), [&found](const nlattr& attribute) {
        if (mnl_attr_get_type(&attribute) == RTA_OIF) found.insert(mnl_attr_get_u32(&attribute));
        if (mnl_attr_get_type(&attribute) == RTA_MULTIPATH) add_hops(attribute, found);
      });
    });
  std::set<std::string> names;
  for (const std::uint32_t index : found)
    if (std::array<char, IF_NAMESIZE> name{}; ::if_indextoname(index, name.data())) names.emplace(name.data());
  return names;
}

}  // namespace cardcage::nic
