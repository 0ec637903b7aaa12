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
  // Why it does not respond, for people; empty if it does. The rest is what was known before.
  std::string fault;
  bool has_driver = true;  // the fault is that of this GPU; otherwise of the driver as a whole
  bool lost = false;       // with a fault: the GPU is off the bus, and what was made on it has gone
  bool released = false;   // nobody touches it until the operator gives it back; the rest is what was known before

  bool responds() const { return fault.empty() && !released; }
};

struct Inventory {
  DriverVersions versions;
  std::vector<SeenGpu> gpus;  // by minor number

  const SeenGpu* find(std::string_view uuid) const;
  const SeenGpu* at(std::string_view bus_id) const;
};

// Looks at every GPU that the kernel module drives but those in `released`, by bus id. One that does not respond stays
// on the list, as `before` knew it or as the kernel module describes it: a fault of one hides neither it nor the
// others. `divides` tells that partitions are made for claims: only then the profiles of a GPU that is not in MIG mode
// are of use, and a worker without privileges may not list them.
Inventory take_inventory(const nvml::Library& nvml, const Node& node, const Inventory& before,
                         const std::set<std::string>& released, bool divides);

// A GPU for the displays of a workstation, which cannot compute.
bool is_display_only(std::string_view product);

// Every GPU of `before` with the fault, for a driver that does not respond at all.
Inventory with_fault(Inventory before, const std::string& fault);

}  // namespace cardcage::nvidia
