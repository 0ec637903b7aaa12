#include "modules/nvidia/nvml/instances.h"

#include <algorithm>

namespace cardcage::nvml {
namespace {

// More than the placements, slices or instances of a profile on any GPU.
constexpr unsigned kMost = 64;

template <class Item, class Function, class Owner>
std::vector<Item> list(const Library& nvml, const char* doing, Function function, Owner owner, unsigned profile_id) {
  std::vector<Item> items(kMost);
  unsigned count = kMost;
  if (function == nullptr) return {};
  const Return code = function(owner, profile_id, items.data(), &count);
  if (means_none(code)) return {};
  if (code != kSuccess) nvml.must(code, doing + (" of profile " + std::to_string(profile_id)));
  items.resize(std::min(count, kMost));
  return items;
}

}  // namespace

bool is_possible(const Placement& placement) {
  return placement.start < kMost && placement.size > 0 && placement.size <= kMost - placement.start;
}

std::vector<Placement> possible_placements(const Library& nvml, Device device, unsigned profile_id) {
  auto placements = list<Placement>(nvml, "listing the placements", nvml->nvmlDeviceGetGpuInstancePossiblePlacements_v2,
                                    device, profile_id);
  std::erase_if(placements, [](const Placement& one) { return !is_possible(one); });
  std::ranges::sort(placements, {}, &Placement::start);
  return placements;
}

std::vector<GpuInstance> gpu_instances(const Library& nvml, Device device, unsigned profile_id) {
  return list<GpuInstance>(nvml, "listing the MIG instances", nvml->nvmlDeviceGetGpuInstances, device, profile_id);
}

std::vector<ComputeInstance> compute_instances(const Library& nvml, GpuInstance instance, unsigned profile_id) {
  return list<ComputeInstance>(nvml, "listing the compute instances", nvml->nvmlGpuInstanceGetComputeInstances,
                               instance, profile_id);
}

std::vector<ComputeInstanceProfileInfo> compute_profiles(const Library& nvml, GpuInstance instance) {
  std::vector<ComputeInstanceProfileInfo> profiles;
  for (unsigned index = 0; index < kComputeInstanceProfiles; ++index) {
    ComputeInstanceProfileInfo info{};
    if (nvml->nvmlGpuInstanceGetComputeInstanceProfileInfo == nullptr) break;
    const Return code = nvml->nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, index, kSharedEngines, &info);
    if (means_none(code) || code == kInvalidArgument) continue;  // an index that this driver does not have
    nvml.must(code, "listing the profiles of compute instances");
    profiles.push_back(info);
  }
  return profiles;
}

std::optional<GpuInstanceInfo> info_of(const Library& nvml, GpuInstance instance) {
  return nvml.find<GpuInstanceInfo>("looking at a MIG instance", nvml->nvmlGpuInstanceGetInfo, instance);
}

}  // namespace cardcage::nvml
