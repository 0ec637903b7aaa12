// Routes and rules of a claim that are written as objects with dranet's members, and not as lines of ip-route(8).
//
// Source: RouteConfig and RuleConfig in pkg/apis/types.go of kubernetes-sigs/dranet.
#pragma once

#include <string>
#include <string_view>

#include "modules/nic/netlink/routes.h"

namespace cardcage::nic {

// Returns whether the host passes this item of a list as an object: lines "NAME=VALUE\n".
bool is_object(std::string_view item);

// {destination: 10.0.0.0/8, gateway: 10.1.2.1, source: 10.1.2.3, scope: 0, table: 100}. Throws cage::Error for a member
// that is wrong or unknown, with its path below `path`, such as "routes[1]".
Route route_of_object(std::string_view item, const std::string& path);
// {source: 10.1.2.3/32, destination: 10.0.0.0/8, table: 100, priority: 1000}
Rule rule_of_object(std::string_view item, const std::string& path);

}  // namespace cardcage::nic
