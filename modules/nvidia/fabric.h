// The NVLink fabric of a GPU: the cluster that it belongs to, and its faults.
#pragma once

#include <optional>
#include <string>

#include "modules/nvidia/nvml/library.h"

namespace cardcage::nvidia {

struct Fabric {
  std::string clique;   // "CLUSTER-UUID.ID" once the fabric is complete
  std::string problem;  // for people; empty if there is none
};
// Nothing for a GPU without a fabric.
std::optional<Fabric> read_fabric(const nvml::Library& nvml, nvml::Device device);

}  // namespace cardcage::nvidia
