#include "modules/nic/netlink/addresses.h"

#include <arpa/inet.h>

#include <charconv>

namespace cardcage::nic {

std::optional<Address> parse_address(std::string_view text) {
  const auto slash = text.find('/');
  const std::string host(text.substr(0, slash));
  Address address;
  address.family = host.find(':') == std::string::npos ? AF_INET : AF_INET6;
  if (::inet_pton(address.family, host.c_str(), address.bytes.data()) != 1) return std::nullopt;
  address.prefix = static_cast<std::uint8_t>(address.size() * 8);
  if (slash == std::string_view::npos) return address;
  const std::string_view length = text.substr(slash + 1);
  const auto limit = address.prefix;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), address.prefix);
  if (error != std::errc() || end != length.data() + length.size() || address.prefix > limit) return std::nullopt;
  return address;
}

std::string to_string(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(address.family, address.bytes.data(), text.data(), text.size());
  return std::string(text.data()) + "/" + std::to_string(address.prefix);
}

}  // namespace cardcage::nic
