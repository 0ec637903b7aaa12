#include "modules/nvidia/nvml/instances.h"

#include <algorithm>

namespace cardcage::nvml {
namespace {

// More than any GPU has placements, slices or instances of a profile.
constexpr unsigned kMost = 64;

template <class Item, class Function, class Owner>
std::vector<Item> list(Function function, Owner owner, unsigned profile_id) {
  std::vector<Item> items(kMost);
  unsigned count = kMost;
  if (function == nullptr || function(owner, profile_id, items.data(), &count) != kSuccess) return {};
  items.resize(std::min(count, kMost));
  return items;
}

}  // namespace

bool is_possible(const Placement& placement) {
  return placement.start < kMost && placement.size > 0 && placement.size <= kMost - placement.start;
}

std::vector<Placement> possible_placements(const Library& nvml, Device device, unsigned profile_id) {
  auto placements = list<Placement>(nvml->nvmlDeviceGetGpuInstancePossiblePlacements_v2, device, profile_id);
  std::erase_if(placements, [](const Placement& one) { return !is_possible(one); });
  std::ranges::sort(placements, {}, &Placement::start);
  return placements;
}

std::vector<GpuInstance> gpu_instances(const Library& nvml, Device device, unsigned profile_id) {
  return list<GpuInstance>(nvml->nvmlDeviceGetGpuInstances, device, profile_id);
}

std::vector<ComputeInstance> compute_instances(const Library& nvml, GpuInstance instance, unsigned profile_id) {
  return list<ComputeInstance>(nvml->nvmlGpuInstanceGetComputeInstances, instance, profile_id);
}

std::vector<ComputeInstanceProfileInfo> compute_profiles(const Library& nvml, GpuInstance instance) {
  std::vector<ComputeInstanceProfileInfo> profiles;
  for (unsigned index = 0; index < kComputeInstanceProfiles; ++index) {
    const auto info = get<ComputeInstanceProfileInfo>(nvml->nvmlGpuInstanceGetComputeInstanceProfileInfo, instance,
                                                      index, kSharedEngines);
    if (info) profiles.push_back(*info);
  }
  return profiles;
}

}  // namespace cardcage::nvml
