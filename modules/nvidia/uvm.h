// The kernel module nvidia-uvm, without which CUDA does not work. On a node without nvidia-persistenced, nothing loads
// it before the first program that uses CUDA, which in a container cannot.
#pragma once

#include <cardcage/sdk.hpp>

#include "modules/nvidia/node.h"

namespace cardcage::nvidia {

// The node's device numbers, after nvidia-modprobe has loaded the module if it was not there. Where that fails, the log
// says why, and the number is missing.
Majors majors_with_uvm(const cage::Call& call, cage::Host host, const Node& node);

}  // namespace cardcage::nvidia
