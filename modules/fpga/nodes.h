// Device nodes for containers.
#pragma once

#include <cardcage/sdk.hpp>
#include <string>
#include <string_view>

namespace cardcage::fpga {

// Describes a character device that a container may read and write, but not create. `numbers` is "237:0", the value of
// the kernel's attribute `dev`; without it the container runtime reads the numbers of the node.
cage::DeviceNode node_of(std::string path, std::string_view numbers = {});

}  // namespace cardcage::fpga
