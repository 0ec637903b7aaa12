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

// Linux 6.3 added these limits for IPv4. Setting the older limits changes these, too.
constexpr int kGsoIpv4MaxSize = 63, kGroIpv4MaxSize = 64;

std::string text_of(const nlattr& attribute) {
  std::string text(static_cast<const char*>(mnl_attr_get_payload(&attribute)), mnl_attr_get_payload_len(&attribute));
  return text.substr(0, text.find('\0'));
}

std::uint32_t xdp_modes_of(const nlattr& attribute) {
  std::uint32_t modes = 0;
  for_each_nested(attribute, [&modes](const nlattr& nested) {
    switch (mnl_attr_get_type(&nested)) {
      case IFLA_XDP_SKB_PROG_ID: modes |= XDP_FLAGS_SKB_MODE; break;
      case IFLA_XDP_DRV_PROG_ID: modes |= XDP_FLAGS_DRV_MODE; break;
      case IFLA_XDP_HW_PROG_ID: modes |= XDP_FLAGS_HW_MODE; break;
      default: break;
    }
  });
  return modes;
}

void change_alternative_name(NetlinkSocket& socket, std::uint16_t type, std::uint16_t flags, std::uint32_t index,
                             const std::string& name) {
  socket.change(type, flags, [&](nlmsghdr& message) {
    auto& header = *static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(&message, sizeof(ifinfomsg)));
    header.ifi_index = static_cast<int>(index);
    nlattr* const list = mnl_attr_nest_start(&message, IFLA_PROP_LIST);
    mnl_attr_put_strz(&message, IFLA_ALT_IFNAME, name.c_str());
    mnl_attr_nest_end(&message, list);
  });
}

}  // namespace

Link link_from(const nlmsghdr& message) {
  Link link;
  std::string parent, bus;
  bool is_lower_elsewhere = false;
  const auto* const header = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(&message));
  link.index = static_cast<std::uint32_t>(header->ifi_index);
  link.flags = header->ifi_flags;
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
      case IFLA_MASTER: link.master = mnl_attr_get_u32(&attribute); break;
      case IFLA_LINK: link.lower = mnl_attr_get_u32(&attribute); break;
      case IFLA_LINK_NETNSID: is_lower_elsewhere = true; break;
      case IFLA_LINKINFO:
        for_each_nested(attribute, [&link](const nlattr& nested) {
          if (mnl_attr_get_type(&nested) == IFLA_INFO_KIND) link.kind = text_of(nested);
        });
        break;
      case IFLA_PROP_LIST:
        for_each_nested(attribute, [&link](const nlattr& nested) {
          if (mnl_attr_get_type(&nested) == IFLA_ALT_IFNAME) link.alternative_names.push_back(text_of(nested));
        });
        break;
      case IFLA_XDP: link.xdp_modes = xdp_modes_of(attribute); break;
      case IFLA_GSO_MAX_SIZE: link.segments.gso_bytes = mnl_attr_get_u32(&attribute); break;
      case IFLA_GSO_MAX_SEGS: link.segments.gso_segments = mnl_attr_get_u32(&attribute); break;
      case IFLA_GRO_MAX_SIZE: link.segments.gro_bytes = mnl_attr_get_u32(&attribute); break;
      case kGsoIpv4MaxSize: link.segments.gso_ipv4_bytes = mnl_attr_get_u32(&attribute); break;
      case kGroIpv4MaxSize: link.segments.gro_ipv4_bytes = mnl_attr_get_u32(&attribute); break;
      case IFLA_PARENT_DEV_NAME: parent = text_of(attribute); break;
      case IFLA_PARENT_DEV_BUS_NAME: bus = text_of(attribute); break;
      default: break;
    }
  });
  if (bus == "pci") link.pci_function = std::move(parent);
  const bool is_pair = link.kind == "veth" || link.kind == "netkit" || link.kind == "vxcan";  // its lower is the peer
  if (is_lower_elsewhere || is_pair || link.lower == link.index) link.lower = 0;
  return link;
}

bool Link::is_up() const { return (flags & IFF_UP) != 0; }

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

std::optional<Link> read_link(NetlinkSocket& socket, const std::string& name) {
  auto link = find_named(socket, name);
  return link && link->name == name ? link : std::nullopt;
}

std::optional<Link> find_named(NetlinkSocket& socket, const std::string& name) try {
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
  return link;
} catch (const std::system_error& error) {
  if (error.code().value() != ENODEV) throw;
  return std::nullopt;
}

void change_link(NetlinkSocket& socket, std::uint32_t index, const LinkChange& change) {
  socket.change(RTM_NEWLINK, 0, [&](nlmsghdr& message) {
    auto& header = *static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(&message, sizeof(ifinfomsg)));
    header.ifi_index = static_cast<int>(index);
    header.ifi_change = change.flag_mask;
    header.ifi_flags = change.flags & change.flag_mask;
    if (change.is_up) {
      header.ifi_change |= IFF_UP;
      if (*change.is_up) header.ifi_flags |= IFF_UP;
    }
    if (change.network_namespace)
      mnl_attr_put_u32(&message, IFLA_NET_NS_FD, static_cast<std::uint32_t>(*change.network_namespace));
    if (change.new_index) mnl_attr_put_u32(&message, IFLA_NEW_IFINDEX, *change.new_index);
    if (change.name) mnl_attr_put_strz(&message, IFLA_IFNAME, change.name->c_str());
    if (change.alias) mnl_attr_put(&message, IFLA_IFALIAS, change.alias->size(), change.alias->data());
    if (change.mac) {
      const std::vector<unsigned char> bytes = mac_bytes(*change.mac);
      mnl_attr_put(&message, IFLA_ADDRESS, bytes.size(), bytes.data());
    }
    if (change.mtu) mnl_attr_put_u32(&message, IFLA_MTU, *change.mtu);
    if (change.queue_length) mnl_attr_put_u32(&message, IFLA_TXQLEN, *change.queue_length);
    if (!change.segments) return;
    for (const auto& [attribute, value] :
         {std::pair<int, std::uint32_t>(IFLA_GSO_MAX_SIZE, change.segments->gso_bytes),
          std::pair<int, std::uint32_t>(IFLA_GSO_MAX_SEGS, change.segments->gso_segments),
          std::pair<int, std::uint32_t>(IFLA_GRO_MAX_SIZE, change.segments->gro_bytes),
          std::pair<int, std::uint32_t>(kGsoIpv4MaxSize, change.segments->gso_ipv4_bytes),
          std::pair<int, std::uint32_t>(kGroIpv4MaxSize, change.segments->gro_ipv4_bytes)})
      if (value != 0) mnl_attr_put_u32(&message, static_cast<std::uint16_t>(attribute), value);
  });
}

void add_alternative_name(NetlinkSocket& socket, std::uint32_t index, const std::string& name) {
  change_alternative_name(socket, RTM_NEWLINKPROP, NLM_F_CREATE | NLM_F_APPEND | NLM_F_EXCL, index, name);
}

void remove_alternative_name(NetlinkSocket& socket, std::uint32_t index, const std::string& name) {
  change_alternative_name(socket, RTM_DELLINKPROP, 0, index, name);
}

void remove_xdp(NetlinkSocket& socket, std::uint32_t index, std::uint32_t modes) {
  for (const std::uint32_t mode : {XDP_FLAGS_SKB_MODE, XDP_FLAGS_DRV_MODE, XDP_FLAGS_HW_MODE}) {
    if ((modes & mode) == 0) continue;
    socket.change(RTM_SETLINK, 0, [&](nlmsghdr& message) {
      auto& header = *static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(&message, sizeof(ifinfomsg)));
      header.ifi_index = static_cast<int>(index);
      nlattr* const program = mnl_attr_nest_start(&message, IFLA_XDP);
      mnl_attr_put_u32(&message, IFLA_XDP_FD, static_cast<std::uint32_t>(-1));
      mnl_attr_put_u32(&message, IFLA_XDP_FLAGS, mode);
      mnl_attr_nest_end(&message, program);
    });
  }
}

}  // namespace cardcage::nic
