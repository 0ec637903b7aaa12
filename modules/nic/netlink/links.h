// Reads and changes the interfaces of a network namespace through rtnetlink.
//
// Source: rtnetlink(7), include/uapi/linux/if_link.h of the kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "modules/nic/netlink/socket.h"

namespace cardcage::nic {

// Sizes of the segments that an interface takes and makes; 0 = the kernel does not tell.
struct SegmentSizes {
  std::uint32_t gso_bytes = 0, gso_segments = 0, gro_bytes = 0, gso_ipv4_bytes = 0, gro_ipv4_bytes = 0;
  friend bool operator==(const SegmentSizes&, const SegmentSizes&) = default;
};

struct Link {
  std::uint32_t index = 0;
  std::string name, alias, mac;
  std::vector<std::string> alternative_names;
  std::string kind;          // "veth", "macvlan"; empty for hardware
  std::string pci_function;  // PCI function that it belongs to; empty if it has none, or the kernel is older than 5.14
  std::uint32_t mtu = 0, queue_length = 0;
  std::uint32_t flags = 0;      // IFF_*
  std::uint32_t master = 0;     // the index of the bridge, bond or switch that it is a port of; 0 = none
  std::uint32_t lower = 0;      // the index of the interface in the same namespace that it is made of; 0 = none
  std::uint32_t xdp_modes = 0;  // XDP_FLAGS_*_MODE in which it has a program
  SegmentSizes segments;

  bool is_up() const;
};

// "02:00:00:00:00:01"
std::string mac_text(std::span<const unsigned char> bytes);
std::vector<unsigned char> mac_bytes(const std::string& text);

// Parses a message of type RTM_NEWLINK or RTM_DELLINK.
Link link_from(const nlmsghdr& message);

// Throws std::system_error, as all functions here.
std::vector<Link> read_links(NetlinkSocket& socket);

// Returns the link with that main name; alternative names do not count. Nothing if there is none.
std::optional<Link> read_link(NetlinkSocket& socket, const std::string& name);
// Returns the link that has the name as its main or an alternative name: names are unique. Nothing if there is none.
std::optional<Link> find_named(NetlinkSocket& socket, const std::string& name);

// A change of a link: the members with a value are changed.
struct LinkChange {
  std::optional<std::string> name, alias, mac;
  std::optional<std::uint32_t> mtu, queue_length;
  std::optional<bool> is_up;
  std::uint32_t flags = 0, flag_mask = 0;  // values of IFF_* other than IFF_UP, and a mask of the flags to change
  std::optional<SegmentSizes> segments;    // sizes that are not 0
  // A descriptor of the namespace. The kernel moves the interface first, and then gives it the name. `new_index` is its
  // index there, which kernels before 5.13 choose by themselves.
  std::optional<int> network_namespace;
  std::optional<std::uint32_t> new_index;
};
void change_link(NetlinkSocket& socket, std::uint32_t index, const LinkChange& change);

void add_alternative_name(NetlinkSocket& socket, std::uint32_t index, const std::string& name);
void remove_alternative_name(NetlinkSocket& socket, std::uint32_t index, const std::string& name);
// `modes` has the meaning of Link::xdp_modes.
void remove_xdp(NetlinkSocket& socket, std::uint32_t index, std::uint32_t modes);

}  // namespace cardcage::nic
