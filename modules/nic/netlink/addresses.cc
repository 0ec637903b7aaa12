#include "modules/nic/netlink/addresses.h"

#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <charconv>
#include <cstring>

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

std::vector<Address> addresses_of(NetlinkSocket& socket, std::uint32_t index) {
  std::vector<Address> addresses;
  socket.dump(RTM_GETADDR, AF_UNSPEC, [&](const nlmsghdr& message) {
    if (message.nlmsg_type != RTM_NEWADDR) return;
    const auto* const header = static_cast<const ifaddrmsg*>(mnl_nlmsg_get_payload(&message));
    if (header->ifa_index != index || header->ifa_scope != RT_SCOPE_UNIVERSE) return;
    Address address{.family = header->ifa_family, .prefix = header->ifa_prefixlen, .bytes = {}};
    bool has_local = false;  // that of a point-to-point interface differs from its peer's
    for_each_attribute(message, sizeof(ifaddrmsg), [&](const nlattr& attribute) {
      const auto type = mnl_attr_get_type(&attribute);
      if (type != IFA_LOCAL && (type != IFA_ADDRESS || has_local)) return;
      has_local = type == IFA_LOCAL;
      std::memcpy(address.bytes.data(), mnl_attr_get_payload(&attribute),
                  std::min<std::size_t>(mnl_attr_get_payload_len(&attribute), address.size()));
    });
    addresses.push_back(address);
  });
  return addresses;
}

void add_address(NetlinkSocket& socket, std::uint32_t index, const Address& address) {
  socket.change(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, [&](nlmsghdr& message) {
    auto& header = *static_cast<ifaddrmsg*>(mnl_nlmsg_put_extra_header(&message, sizeof(ifaddrmsg)));
    header.ifa_family = address.family;
    header.ifa_prefixlen = address.prefix;
    header.ifa_flags = address.family == AF_INET6 ? IFA_F_NODAD : 0;
    header.ifa_index = index;
    mnl_attr_put(&message, IFA_LOCAL, address.size(), address.bytes.data());
    mnl_attr_put(&message, IFA_ADDRESS, address.size(), address.bytes.data());
  });
}

}  // namespace cardcage::nic
