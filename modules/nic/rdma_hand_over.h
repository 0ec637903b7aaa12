// Moves the RDMA devices of a PCI function to a pod with its interface, and back, where each device is in one network
// namespace (rdma system set netns exclusive). Where namespaces share the devices, nothing moves.
//
// The kernel takes a device back to the node when the namespace of a pod ends. Before that, only a thread in the
// namespace can move it, and a confined module cannot enter the namespace.
#pragma once

#include <cardcage/sdk.hpp>
#include <string_view>
#include <vector>

#include "modules/common/node.h"
#include "modules/nic/kept_interface.h"

namespace cardcage::nic {

// Returns whether a container can use only the RDMA devices of its own namespace. Throws std::system_error.
bool is_rdma_exclusive();

// Returns the devices that move with the interface. None move with an InfiniBand interface, since the kernel makes it
// of its RDMA device and would recreate it, nor for a function whose interfaces are several devices. Throws
// std::system_error.
std::vector<RdmaDevice> movable_rdma_of(const hardware::Node& node, std::string_view device, const Netdev& netdev);

// Moves the devices to the pod; does nothing that is done already. Throws cage::Error, and std::system_error.
void give_rdma(cage::Host host, const hardware::Node& node, const KeptInterface& kept, int network_namespace);
// Moves the devices to the node. Only logs an error: the kernel takes them back later.
void take_back_rdma(cage::Host host, const KeptInterface& kept, int network_namespace);

// Returns whether the devices are on the node, or gone with their driver.
bool is_rdma_back(const hardware::Node& node, const KeptInterface& kept);
// Gives devices that are on the node the names that they had. Logs an error.
void restore_rdma_names(cage::Host host, const KeptInterface& kept);

}  // namespace cardcage::nic
