// Interfaces of a network namespace, as rtnetlink tells and changes them.
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

struct Link {
  std::uint32_t index = 0;
  std::string name, alias, mac;
  std::string pci_function;  // that it belongs to; empty if it has none, or the kernel is older than 5.14
  std::uint32_t mtu = 0, queue_length = 0;
  bool is_up = false;
};

// "02:00:00:00:00:01"
std::string mac_text(std::span<const unsigned char> bytes);
std::vector<unsigned char> mac_bytes(const std::string& text);

// Throws std::system_error, as all functions here.
std::vector<Link> read_links(NetlinkSocket& socket);

// The link with that name, and not one that has it as an alternative name. Nothing if there is none.
std::optional<Link> read_link(NetlinkSocket& socket, const std::string& name);

// What is to be another value.
struct LinkChange {
  std::optional<std::string> name, alias, mac;
  std::optional<std::uint32_t> mtu, queue_length;
  std::optional<bool> is_up;
  std::optional<int> network_namespace;  // a descriptor of it. The kernel moves the interface first
};
void change_link(NetlinkSocket& socket, std::uint32_t index, const LinkChange& change);

}  // namespace cardcage::nic
