// The NVLink clique of the node's GPUs: nodes of the same one reach each other's memory.
#pragma once

#include <string>

#include "modules/nvidia/node.h"

namespace cardcage::nvidia {

struct NodeClique {
  std::string name;     // "CLUSTER-UUID.ID", that of all GPUs which have joined a fabric
  std::string problem;  // why the node has none, for people
  bool settled = true;  // false while a GPU has still to join its fabric, or could not be asked
};

// Opens NVML and closes it again, so that nothing keeps the driver from being replaced.
NodeClique read_clique(const Node& node);

}  // namespace cardcage::nvidia
