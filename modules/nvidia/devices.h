// The devices that Kubernetes sees for GPUs and partitions: names, attributes and capacities are those of NVIDIA's DRA
// driver, so that its users keep their DeviceClasses and CEL expressions.
#pragma once

#include <cardcage/sdk.hpp>

#include "modules/nvidia/inventory.h"
#include "modules/nvidia/pci_gpu.h"

namespace cardcage::nvidia {

enum class MigMode {
  kStatic,   // instances that the administrator made
  kDynamic,  // every instance that a GPU can have, made when a claim needs it
};
// The operator's choices.
struct Offer {
  MigMode mig = MigMode::kStatic;
  bool passthrough = false;    // offers whole GPUs to virtual machines, too
  bool memory_shares = false;  // claims share a GPU, each with a part of its memory (KEP-5075)
};

// Reports every device of the inventory, and `functions` as devices for virtual machines.
void report_devices(const Inventory& inventory, const std::vector<PciGpu>& functions, const Offer& offer,
                    cage::Snapshot& snapshot);

// Whether the GPU is a device itself; otherwise only its partitions are.
bool is_device(const SeenGpu& seen, const Offer& offer);

// Whether the GPU responds: the cause Access of each of its devices.
cage::Health access_of(const SeenGpu& seen);

// The ids under which faults of the whole GPU are stated. The host marks its partitions with them, even where the GPU
// itself is not a device. Its sibling for virtual machines is not a partition: it can be reset like the GPU.
std::vector<std::string> whole_ids(const SeenGpu& seen, const Offer& offer);

// The ids of the devices that depend on this GPU, as report_devices() reports them.
std::vector<std::string> device_ids(const SeenGpu& seen, const Offer& offer);

// The id of a MIG device that is made on demand.
std::string dynamic_mig_id(const Gpu& gpu, unsigned profile, unsigned start);

// The id of the device for a MIG instance.
std::string device_id(const SeenGpu& seen, const MigInstance& instance, const Offer& offer);

// The hardware behind a device id.
struct Target {
  const SeenGpu* gpu = nullptr;
  const MigInstance* instance = nullptr;  // for a MIG device that exists
  const MigProfile* profile = nullptr;    // for a MIG device that is made on demand
  unsigned start = 0;                     // its first memory slice

  bool responds() const { return gpu != nullptr && gpu->responds(); }
  bool is_whole() const { return profile == nullptr && instance == nullptr; }
};
// Without a GPU for an unknown id.
Target find_target(const Inventory& inventory, std::string_view device_id);

}  // namespace cardcage::nvidia
