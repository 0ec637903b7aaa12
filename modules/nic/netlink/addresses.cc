#include "modules/nic/netlink/addresses.h"

#include <arpa/inet.h>

#include "modules/common/text.h"

namespace cardcage::nic {

std::optional<Address> parse_address(std::string_view text) {
  const auto slash = text.find('/');
  const std::string host(text.substr(0, slash));
  Address address;
  address.family = host.find(':') == std::string::npos ? AF_INET : AF_INET6;
  if (::inet_pton(address.family, host.c_str(), address.bytes.data()) != 1) return std::nullopt;
  address.prefix = static_cast<std::uint8_t>(address.size() * 8);
  if (slash == std::string_view::npos) return address;
  const auto prefix = hardware::number_of<std::uint8_t>(text.substr(slash + 1));
  if (!prefix || *prefix > address.prefix) return std::nullopt;
  address.prefix = *prefix;
  return address;
}

std::string to_string(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(address.family, address.bytes.data(), text.data(), text.size());
  return std::string(text.data()) + "/" + std::to_string(address.prefix);
}

}  // namespace cardcage::nic
