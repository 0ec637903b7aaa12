// Lists of existing and possible MIG instances. A list is empty if there are none, or the GPU cannot have any; any
// other error of the driver is thrown as Failure, because the instances may exist.
#pragma once

#include <optional>
#include <vector>

#include "modules/nvidia/nvml/library.h"

namespace cardcage::nvml {

// Whether a GPU may have these slices: each becomes a counter.
bool is_possible(const Placement& placement);
std::vector<Placement> possible_placements(const Library& nvml, Device device, unsigned profile_id);
// The instances of this profile.
std::vector<GpuInstance> gpu_instances(const Library& nvml, Device device, unsigned profile_id);
std::vector<ComputeInstance> compute_instances(const Library& nvml, GpuInstance instance, unsigned profile_id);
// The profiles of compute instances that the GPU instance can have.
std::vector<ComputeInstanceProfileInfo> compute_profiles(const Library& nvml, GpuInstance instance);
// Nothing if the instance has gone meanwhile.
std::optional<GpuInstanceInfo> info_of(const Library& nvml, GpuInstance instance);

}  // namespace cardcage::nvml
