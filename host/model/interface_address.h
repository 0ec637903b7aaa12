// Addresses of network interfaces, as Kubernetes takes them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cardcage {

// "10.1.2.3/24" or "2001:db8::1/64" in the one form that the API server accepts (IsValidInterfaceAddress): no leading
// zeros, lower case, zeros of IPv6 left out. Nothing if it is no address with the length of its prefix, or an IPv4
// address in the form of IPv6.
std::optional<std::string> canonical_interface_address(std::string_view text);

}  // namespace cardcage
