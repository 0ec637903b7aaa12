// Addresses of interfaces, as people write them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cardcage::nic {

struct Address {
  std::uint8_t family = 0;  // AF_INET, AF_INET6
  std::uint8_t prefix = 0;  // bits
  std::array<unsigned char, 16> bytes{};

  std::size_t size() const { return family == 2 ? 4 : 16; }
  friend bool operator==(const Address&, const Address&) = default;
};

// Parses "10.1.2.3/24" or "2001:db8::1/64"; without a length all bits count. Returns nothing for other texts.
std::optional<Address> parse_address(std::string_view text);
std::string to_string(const Address& address);

}  // namespace cardcage::nic
