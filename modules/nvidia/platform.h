// Machines whose GPUs this module does not serve, because they have no PCI function and no /proc/driver/nvidia/gpus.
//
// Source: NVIDIA/go-nvlib, pkg/nvlib/info: libdxcore and /dev/dxg on WSL2; nv_tegra_release and the family of the SoC
// on Jetson, IGX and Thor.
#pragma once

#include <string>

#include "modules/nvidia/node.h"

namespace cardcage::nvidia {

// One line for people; empty on a machine that may have GPUs that the module serves.
std::string unserved_platform(const Node& node);

}  // namespace cardcage::nvidia
