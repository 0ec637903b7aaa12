// Device nodes of GPUs for containers: with type, major and minor, so that no node has to exist on the host.
#pragma once

#include <cardcage/sdk.hpp>
#include <string>
#include <vector>

#include "modules/nvidia/gpu.h"
#include "modules/nvidia/node.h"

namespace cardcage::nvidia {

// /dev/nvidiactl, nvidia-uvm and the other nodes that every container with a GPU needs. Throws cage::Error if the
// kernel module nvidia-uvm, without which CUDA does not work, is not loaded.
std::vector<cage::DeviceNode> control_nodes(const Node& node, const Majors& majors);

// The text of /proc/driver/nvidia/params for containers, in which the driver's programs must not make or change device
// nodes (NVreg_ModifyDeviceFiles, chapter "Device nodes" of the driver's README). Empty if the driver forbids it
// already.
std::string params_without_node_changes(const Node& node);

cage::DeviceNode gpu_node(const Gpu& gpu, const Majors& majors);

// /dev/dri/cardN and renderDN of the GPU; none if the driver has no nvidia-drm. CDI has no links, so udev's links in
// /dev/dri/by-path become further nodes with the same numbers.
std::vector<cage::DeviceNode> display_nodes(const Node& node, const Gpu& gpu);

// /dev/nvidia-caps/nvidia-capN of a MIG instance: one for the GPU instance, one for the compute instance. Throws
// cage::Error if the kernel module does not list them.
std::vector<cage::DeviceNode> mig_nodes(const Node& node, const Majors& majors, const Gpu& gpu, unsigned gpu_instance,
                                        unsigned compute_instance);

}  // namespace cardcage::nvidia
