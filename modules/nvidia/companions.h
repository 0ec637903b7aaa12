// Devices beside a GPU that programs use together with it: options of NVIDIA's device plugin.
//
// Source: NVIDIA/nvidia-container-toolkit, internal/discover: gds.go, gdrcopy.go, mofed.go.
#pragma once

#include <cardcage/sdk.hpp>
#include <string>
#include <vector>

#include "modules/nvidia/node.h"

namespace cardcage::nvidia {

// The operator's choice, for all containers with a GPU.
struct Companions {
  bool gds = false;      // GPUDirect Storage
  bool gdrcopy = false;  // copies by the CPU through the GPU's BAR
  bool mofed = false;    // RDMA, GPUDirect RDMA
};

struct CompanionFiles {
  std::vector<cage::DeviceNode> nodes;  // with their numbers, so that no node has to exist on the host
  std::vector<cage::Mount> mounts;
  std::vector<std::string> missing;  // messages about chosen devices that the node lacks
};
CompanionFiles companion_files(const Node& node, const Companions& chosen);

}  // namespace cardcage::nvidia
