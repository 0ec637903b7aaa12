// The GPUs of the node at one moment.
#pragma once

#include <string>
#include <vector>

#include "modules/nvidia/gpu.h"
#include "modules/nvidia/mig.h"
#include "modules/nvidia/node.h"

namespace cardcage::nvidia {

struct SeenGpu {
  Gpu gpu;
  std::vector<MigProfile> profiles;
  std::vector<MigInstance> instances;
  std::string fault;  // why it does not respond, for people; the rest is what was known before. Empty if it responds
};

struct Inventory {
  DriverVersions versions;
  std::vector<SeenGpu> gpus;  // by minor number

  const SeenGpu* find(std::string_view uuid) const;
};

// Looks at every GPU that the kernel module drives. One that does not respond stays on the list, as `before` knew it or
// as the kernel module describes it: a fault of one hides neither it nor the others.
Inventory take_inventory(const nvml::Library& nvml, const Node& node, const Inventory& before);

// Every GPU of `before` with the fault, for a driver that does not respond at all.
Inventory with_fault(Inventory before, const std::string& fault);

}  // namespace cardcage::nvidia
