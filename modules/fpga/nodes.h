// Device nodes for containers.
#pragma once

#include <cardcage/sdk.hpp>
#include <string>
#include <string_view>

namespace cardcage::fpga {

// A character device that a container may read and write, but not create. `numbers` are "237:0", as the kernel's
// attribute `dev` has them; without them the container runtime looks at the node.
cage::DeviceNode node_of(std::string path, std::string_view numbers = {});

}  // namespace cardcage::fpga
