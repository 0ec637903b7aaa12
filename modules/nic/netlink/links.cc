#include "modules/nic/netlink/links.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>

namespace cardcage::nic {
namespace {

std::string text_of(const nlattr& attribute) {
  std::string text(static_cast<const char*>(mnl_attr_get_payload(&attribute)), mnl_attr_get_payload_len(&attribute));
  return text.substr(0, text.find('\0'));
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
    if (message.nlmsg_type != RTM_NEWLINK) return;
    const auto* const header = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(&message));
    Link& link = links.emplace_back();
    link.index = static_cast<std::uint32_t>(header->ifi_index);
    link.is_up = (header->ifi_flags & IFF_UP) != 0;
    for_each_attribute(message, sizeof(ifinfomsg), [&link](const nlattr& attribute) {
      switch (mnl_attr_get_type(&attribute)) {
        case IFLA_IFNAME: link.name = text_of(attribute); break;
        case IFLA_IFALIAS: link.alias = text_of(attribute); break;
        case IFLA_ADDRESS:
          link.mac = mac_text({static_cast<const unsigned char*>(mnl_attr_get_payload(&attribute)),
                               mnl_attr_get_payload_len(&attribute)});
          break;
        case IFLA_MTU: link.mtu = mnl_attr_get_u32(&attribute); break;
        case IFLA_TXQLEN: link.queue_length = mnl_attr_get_u32(&attribute); break;
        default: break;
      }
    });
  });
  return links;
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
