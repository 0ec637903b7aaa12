#include "modules/nic/netlink/links.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>

namespace cardcage::nic {
namespace {

std::string text_of(const nlattr& attribute) {
  std::string text(static_cast<const char*>(mnl_attr_get_payload(&attribute)), mnl_attr_get_payload_len(&attribute));
  return text.substr(0, text.find('\0'));
}

Link link_from(const nlmsghdr& message) {
  Link link;
  std::string parent, bus;
  const auto* const header = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(&message));
  link.index = static_cast<std::uint32_t>(header->ifi_index);
  link.is_up = (header->ifi_flags & IFF_UP) != 0;
  for_each_attribute(message, sizeof(ifinfomsg), [&](const nlattr& attribute) {
    switch (mnl_attr_get_type(&attribute)) {
      case IFLA_IFNAME: link.name = text_of(attribute); break;
      case IFLA_IFALIAS: link.alias = text_of(attribute); break;
      case IFLA_ADDRESS:
        link.mac = mac_text({static_cast<const unsigned char*>(mnl_attr_get_payload(&attribute)),
                             mnl_attr_get_payload_len(&attribute)});
        break;
      case IFLA_MTU: link.mtu = mnl_attr_get_u32(&attribute); break;
      case IFLA_TXQLEN: link.queue_length = mnl_attr_get_u32(&attribute); break;
      case IFLA_PARENT_DEV_NAME: parent = text_of(attribute); break;
      case IFLA_PARENT_DEV_BUS_NAME: bus = text_of(attribute); break;
      default: break;
    }
  });
  if (bus == "pci") link.pci_function = std::move(parent);
  return link;
}

}  // namespace

std::string mac_text(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    if (!text.empty()) text += ':';
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::vector<unsigned char> mac_bytes(const std::string& text) {
  std::vector<unsigned char> bytes;
  for (std::size_t at = 0; at + 2 <= text.size(); at += 3)
    std::from_chars(text.data() + at, text.data() + at + 2, bytes.emplace_back(), 16);
  return bytes;
}

std::vector<Link> read_links(NetlinkSocket& socket) {
  std::vector<Link> links;
  socket.dump(RTM_GETLINK, AF_UNSPEC, [&links](const nlmsghdr& message) {
    if (message.nlmsg_type == RTM_NEWLINK) links.push_back(link_from(message));
  });
  return links;
}

std::optional<Link> read_link(NetlinkSocket& socket, const std::string& name) try {
  std::optional<Link> link;
  socket.get(
      RTM_GETLINK,
      [&name](nlmsghdr& message) {
        mnl_nlmsg_put_extra_header(&message, sizeof(ifinfomsg));
        mnl_attr_put_strz(&message, IFLA_IFNAME, name.c_str());
      },
      [&](const nlmsghdr& message) {
        if (message.nlmsg_type == RTM_NEWLINK) link = link_from(message);
      });
  return link && link->name == name ? link : std::nullopt;
} catch (const std::system_error& error) {
  if (error.code().value() != ENODEV) throw;
  return std::nullopt;
}

void change_link(NetlinkSocket& socket, std::uint32_t index, const LinkChange& change) {
  socket.change(RTM_NEWLINK, 0, [&](nlmsghdr& message) {
    auto& header = *static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(&message, sizeof(ifinfomsg)));
    header.ifi_index = static_cast<int>(index);
    if (change.is_up) {
      header.ifi_change = IFF_UP;
      header.ifi_flags = *change.is_up ? IFF_UP : 0;
    }
    if (change.network_namespace)
      mnl_attr_put_u32(&message, IFLA_NET_NS_FD, static_cast<std::uint32_t>(*change.network_namespace));
    if (change.name) mnl_attr_put_strz(&message, IFLA_IFNAME, change.name->c_str());
    if (change.alias) mnl_attr_put(&message, IFLA_IFALIAS, change.alias->size(), change.alias->data());
    if (change.mac) {
      const std::vector<unsigned char> bytes = mac_bytes(*change.mac);
      mnl_attr_put(&message, IFLA_ADDRESS, bytes.size(), bytes.data());
    }
    if (change.mtu) mnl_attr_put_u32(&message, IFLA_MTU, *change.mtu);
    if (change.queue_length) mnl_attr_put_u32(&message, IFLA_TXQLEN, *change.queue_length);
  });
}

}  // namespace cardcage::nic
