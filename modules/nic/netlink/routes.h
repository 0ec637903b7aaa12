// Routes and the rules that choose their tables.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "modules/nic/netlink/addresses.h"
#include "modules/nic/netlink/socket.h"

namespace cardcage::nic {

// "10.0.0.0/8 via 10.1.2.1", "default via 2001:db8::1 table 100 metric 10", "10.2.0.0/16": a part of the syntax of
// ip-route(8). The caller that adds the route chooses the interface.
struct Route {
  Address destination;  // all zeros with a prefix of 0 for a default route
  std::optional<Address> gateway, source;
  std::uint32_t table = 0, metric = 0;  // 0 = the main table, the kernel's default metric
  bool is_on_link = false;              // the gateway is reachable, although no address or route says so
  friend bool operator==(const Route&, const Route&) = default;
};
std::optional<Route> parse_route(std::string_view text);
// Returns whether the address has no bits beyond its prefix, as the kernel demands of a destination.
bool is_network(const Address& address);
// Adds a route. Does nothing if there is such a route already. Throws std::system_error.
void add_route(NetlinkSocket& socket, std::uint32_t index, const Route& route);

// "from 10.1.2.3 table 100", "to 10.0.0.0/8 table 100 priority 1000": a part of the syntax of ip-rule(8).
struct Rule {
  std::optional<Address> from, to;  // at least one is set
  std::uint32_t table = 0, priority = 0;
  friend bool operator==(const Rule&, const Rule&) = default;
};
std::optional<Rule> parse_rule(std::string_view text);
// Adds a rule. Does nothing if there is such a rule already. Throws std::system_error.
void add_rule(NetlinkSocket& socket, const Rule& rule);

// Returns the names of the interfaces with a default route of IPv4 or IPv6, in any table, in the network namespace of
// this thread. Throws std::system_error.
std::set<std::string> interfaces_with_default_routes();

}  // namespace cardcage::nic
