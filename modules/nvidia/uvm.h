// The kernel module nvidia-uvm, without which CUDA does not work. On a node without nvidia-persistenced, nothing loads
// it before the first program that uses CUDA, which cannot load it in a container.
#pragma once

#include <cardcage/sdk.hpp>

#include "modules/nvidia/node.h"

namespace cardcage::nvidia {

// Loads the module with nvidia-modprobe if it is missing, and returns the node's device numbers. If that fails, the log
// has the reason, and the number is missing.
Majors majors_with_uvm(const cage::Call& call, cage::Host host, const Node& node);

}  // namespace cardcage::nvidia
