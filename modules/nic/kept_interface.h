// The interface of a device as it was on the node before a pod got it, so that it can be restored.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "modules/common/node.h"
#include "modules/nic/ipam.h"
#include "modules/nic/netdev.h"
#include "modules/nic/netlink/links.h"
#include "modules/nic/netlink/objects.h"
#include "modules/nic/netlink/rdma_devices.h"

namespace cardcage::nic {

// The first index of interfaces in pods. Neither the kernel nor administrators choose such high indexes.
inline constexpr std::uint32_t kFirstIndexInPods = 0x4000'0000;

struct KeptInterface {
  std::string device;  // device id
  Netdev netdev;
  std::uint32_t index = 0;  // 0 = not known
  std::vector<std::string> alternative_names;
  std::uint32_t flags = 0;      // kRestoredFlags
  std::uint32_t xdp_modes = 0;  // as in Link, for programs that were there before
  SegmentSizes segments;
  NetworkObjects objects;
  std::vector<std::string> sysctls;  // settings that differ from the namespace's defaults
  std::vector<RdmaDevice> rdma;      // devices that move with the interface
  bool moved_by_runtime = false;     // moved by the container runtime, and not by this module
  std::optional<Lease> lease;        // the addresses of an IPAM plugin
};

// The IFF_* that a pod may change, beside IFF_UP.
extern const std::uint32_t kRestoredFlags;

// Returns the interface that the device has on the node now; nothing if it has none, or if that is away. Representors
// of other functions do not count, and a port has an interface of its own.
std::optional<Netdev> interface_on_node(const hardware::Node& node, std::string_view device);
// Reads the interface of the device on the node; nothing if it has none, or if that is away. Throws std::system_error.
std::optional<KeptInterface> read_interface(const hardware::Node& node, std::string_view device);

// Returns the link of a PCI function's interface, as sysfs shows it. Nothing if another interface has its name by now.
// Throws std::system_error.
std::optional<Link> link_of(NetlinkSocket& node, const Netdev& netdev, const std::string& bus_id);
// Returns the link on the node that is the kept interface: the link of the same PCI function under any name, or,
// without a PCI function, the link with the same name and MAC address. Never another that took its name. Throws
// std::system_error.
std::optional<Link> find_on_node(NetlinkSocket& socket, const hardware::Node& node, const KeptInterface& kept);

// Writes a text that the host keeps with the claim.
inline constexpr std::uint32_t kStateVersion = 2;
std::string to_state(const std::vector<KeptInterface>& interfaces);
// `version` is the version of the state that the module has saved. Version 0 has only the addresses as text, version 1
// no RDMA devices. Throws cage::Error.
std::vector<KeptInterface> interfaces_from(std::string_view state, std::uint32_t version);

}  // namespace cardcage::nic
