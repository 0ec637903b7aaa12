// The device nodes by which a container uses a function, and their description for programs.
//
// Source: pkg/infoprovider of the SR-IOV network device plugin, for the names; Documentation/driver-api/uio-howto.rst
// and drivers/vhost/vdpa.c of the kernel.
#pragma once

#include <cardcage/sdk.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "modules/common/node.h"

namespace cardcage::nic {

struct ContainerNode {
  std::string part;  // the plugin's name for the part of the function: "rdma", "vfio", "vhost", "vdpa", "uio"
  std::string name;  // "uverbs", "mount"
  cage::DeviceNode node;

  // Returns whether programs pin the memory that they use through the node.
  bool locks_memory() const { return part == "rdma" || part == "vfio" || part == "vdpa"; }
};

// Returns the nodes by which programs use RDMA devices and set up connections.
std::vector<ContainerNode> rdma_container_nodes(const hardware::Node& node,
                                                const std::vector<std::filesystem::path>& devices);
// Returns the node of a vDPA device on the driver vhost_vdpa, and that of a function on a UIO driver.
std::vector<ContainerNode> driver_container_nodes(const hardware::Node& node, const std::string& bus_id);
// Returns the nodes of vhost, for virtio-user of DPDK.
std::vector<ContainerNode> vhost_container_nodes();

// Describes a function as the plugin does:
// {"0000:01:10.0":{"generic":{"deviceID":"0000:01:10.0"},"vfio":{"dev-mount":"/dev/vfio/23","mount":"/dev/vfio/vfio"}}}
// `rdma_device` is "mlx5_0", or empty.
std::string plugin_info_of(const std::string& bus_id, const std::vector<ContainerNode>& nodes,
                           const std::string& rdma_device);

}  // namespace cardcage::nic
