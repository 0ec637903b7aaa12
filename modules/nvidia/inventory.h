// The GPUs of the node at one moment.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "modules/nvidia/gpu.h"
#include "modules/nvidia/mig.h"
#include "modules/nvidia/node.h"

namespace cardcage::nvidia {

struct SeenGpu {
  Gpu gpu;
  std::vector<MigProfile> profiles;
  std::vector<MigInstance> instances;
  // Why it does not respond, for people; empty if it responds. The other fields keep their last values.
  std::string fault;
  bool has_driver = true;  // the fault is in this GPU; otherwise in the driver as a whole
  bool lost = false;       // with a fault: the GPU is off the bus, and its instances and modes have gone
  // The module leaves it alone until the operator gives it back; the other fields keep their last values.
  bool released = false;

  bool responds() const { return fault.empty() && !released; }
};

struct Inventory {
  DriverVersions versions;
  std::vector<SeenGpu> gpus;  // by minor number

  const SeenGpu* find(std::string_view uuid) const;
  const SeenGpu* at(std::string_view bus_id) const;
};

// Looks at every GPU that the kernel module drives except those in `released`, by bus id. A GPU that does not respond
// stays on the list, as `before` knew it or as the kernel module describes it: a fault of one hides neither it nor the
// others. `divides`: partitions are made for claims. Only then the profiles of a GPU that is not in MIG mode are of
// use, and a worker without privileges may not list them.
Inventory take_inventory(const nvml::Library& nvml, const Node& node, const Inventory& before,
                         const std::set<std::string>& released, bool divides);

// Whether the GPU drives only the displays of a workstation and cannot compute.
bool is_display_only(std::string_view product);

// Every GPU of `before` with the fault, for a driver that does not respond at all.
Inventory with_fault(Inventory before, const std::string& fault);

}  // namespace cardcage::nvidia
