// Addresses of network interfaces, in the form that Kubernetes accepts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cardcage {

// Returns "10.1.2.3/24" or "2001:db8::1/64" in the one form that the API server accepts (IsValidInterfaceAddress): no
// leading zeros, lower case, IPv6 zeros compressed. Returns nothing for text that is not an address with a prefix
// length, and for an IPv4 address in IPv6 form.
std::optional<std::string> canonical_interface_address(std::string_view text);

}  // namespace cardcage
