#include <algorithm>
#include <fstream>

#include "sim/nvml/world.h"

namespace cardcage::fake_nvml {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kCapabilitiesPerInstance = 1 + kMaxComputes, kFirstCapability = 3;  // 1 is config, 2 is monitor

fs::path capability_folder(const fs::path& root, const Gpu& gpu, unsigned gi, unsigned ci) {
  const fs::path gpu_folder = root / "proc/driver/nvidia/capabilities" / ("gpu" + std::to_string(gpu.minor)) / "mig";
  const fs::path instance = gpu_folder / ("gi" + std::to_string(gi));
  return ci == nvml::kNoInstance ? instance : instance / ("ci" + std::to_string(ci));
}

fs::path capability_node(const fs::path& root, const Gpu& gpu, unsigned gi, unsigned ci) {
  return root / "dev/nvidia-caps" / ("nvidia-cap" + std::to_string(capability_minor(gpu.minor, gi, ci)));
}

bool has_process(const Gpu& gpu, unsigned gi, unsigned ci) {
  return std::any_of(gpu.processes, gpu.processes + gpu.process_count, [&](const Process& process) {
    return process.gi == gi && (ci == nvml::kNoInstance || process.ci == ci);
  });
}

bool overlap(unsigned start, unsigned size, unsigned other_start, unsigned other_size) {
  return start < other_start + other_size && other_start < start + size;
}

// Whether the engines of the card suffice for one more instance of this profile.
bool engines_left(const Gpu& gpu, const Profile& wanted) {
  static constexpr unsigned Profile::* kEngines[] = {&Profile::multiprocessors, &Profile::decoders, &Profile::encoders,
                                                     &Profile::jpeg_engines, &Profile::ofa_engines};
  return std::all_of(std::begin(kEngines), std::end(kEngines), [&](unsigned Profile::* engine) {
    unsigned total = 0, taken = wanted.*engine;
    for (unsigned i = 0; i < gpu.profile_count; ++i) total = std::max(total, gpu.profiles[i].*engine);
    for (const Instance& instance : gpu.instances) {
      if (instance.used) taken += gpu.profiles[instance.profile].*engine;
    }
    return taken <= total;
  });
}

unsigned free_id(const Gpu& gpu, const Profile& profile, unsigned preferred) {
  if (!gpu.instances[preferred].used) return preferred;
  const unsigned* end = profile.gi_ids + profile.start_count;
  const unsigned* found = std::find_if(profile.gi_ids, end, [&](unsigned id) { return !gpu.instances[id].used; });
  return found == end ? nvml::kNoInstance : *found;
}

unsigned slices_of(const Gpu& gpu, const Instance& instance) { return gpu.profiles[instance.profile].slices; }

}  // namespace

Profile* find_profile(Gpu& gpu, unsigned id) {
  Profile* end = gpu.profiles + gpu.profile_count;
  Profile* found = std::find_if(gpu.profiles, end, [id](const Profile& profile) { return profile.id == id; });
  return found == end ? nullptr : found;
}

nvml::Return set_mig_mode(State& state, Gpu& gpu, unsigned mode, nvml::Return& activation) {
  // The host of a vGPU decides about MIG.
  if (!gpu.mig_capable || gpu.virtualization == nvml::kVgpuGuest) return nvml::kNotSupported;
  if (mode > nvml::kEnabled) return nvml::kInvalidArgument;
  gpu.mig_pending = mode;
  activation = nvml::kSuccess;
  if (mode == gpu.mig_mode) return nvml::kSuccess;
  const bool instances = std::ranges::any_of(gpu.instances, &Instance::used);
  if (instances || gpu.process_count > 0) {
    activation = nvml::kInUse;
  } else if (!gpu.mig_resetless || gpu.virtualization == nvml::kPassthrough) {  // a virtual machine has to restart
    activation = nvml::kResetRequired;
  } else {
    gpu.mig_mode = mode;
    push_event(state, index_of(state, gpu), nvml::kEventMigConfigChange, 0);
  }
  return nvml::kSuccess;
}

nvml::Return create_instance(State& state, Gpu& gpu, unsigned profile_id, unsigned start, unsigned& gi,
                             const fs::path& root) {
  if (gpu.mig_mode != nvml::kEnabled) return nvml::kNotSupported;
  const Profile* profile = find_profile(gpu, profile_id);
  if (profile == nullptr) return nvml::kInvalidArgument;
  const unsigned* starts_end = profile->starts + profile->start_count;
  const unsigned* place = std::find(profile->starts, starts_end, start);
  if (place == starts_end) return nvml::kInvalidArgument;
  unsigned alike = 0;
  for (const Instance& other : gpu.instances) {
    if (!other.used) continue;
    const Profile& taken = gpu.profiles[other.profile];
    alike += &taken == profile;
    if (overlap(start, profile->placement_size, other.start, taken.placement_size)) return nvml::kInsufficientResources;
  }
  if (alike >= profile->instances || !engines_left(gpu, *profile)) return nvml::kInsufficientResources;
  gi = free_id(gpu, *profile, profile->gi_ids[place - profile->starts]);
  if (gi >= kMaxInstances) return nvml::kInsufficientResources;
  gpu.instances[gi] = {};
  gpu.instances[gi].used = true;
  gpu.instances[gi].profile = static_cast<unsigned>(profile - gpu.profiles);
  gpu.instances[gi].start = start;
  gpu.instances[gi].serial = state.next_serial++;
  write_capability(root, gpu, gi, nvml::kNoInstance);
  push_event(state, index_of(state, gpu), nvml::kEventMigConfigChange, 0);
  return nvml::kSuccess;
}

nvml::Return destroy_instance(State& state, Gpu& gpu, unsigned gi, const fs::path& root) {
  if (gi >= kMaxInstances || !gpu.instances[gi].used) return nvml::kInvalidArgument;
  if (std::ranges::any_of(gpu.instances[gi].computes, &Compute::used)) return nvml::kInUse;
  if (has_process(gpu, gi, nvml::kNoInstance)) return nvml::kInUse;
  gpu.instances[gi] = {};
  remove_capability(root, gpu, gi, nvml::kNoInstance);
  push_event(state, index_of(state, gpu), nvml::kEventMigConfigChange, 0);
  return nvml::kSuccess;
}

bool compute_slices(const Profile& profile, unsigned compute_profile, unsigned& slices) {
  static constexpr unsigned kSlices[nvml::kComputeInstanceProfiles] = {1, 2, 3, 4, 7, 8, 6};
  if (compute_profile >= nvml::kComputeInstanceProfiles) return false;
  slices = kSlices[compute_profile];
  return slices > 0 && slices <= profile.slices && !(slices == 3 && profile.slices == 4);
}

unsigned compute_multiprocessors(const Gpu& gpu, const Profile& profile, unsigned slices) {
  if (slices == profile.slices) return profile.multiprocessors;
  // Each slice of a part has as many multiprocessors as the smallest profile.
  unsigned smallest = profile.multiprocessors;
  for (unsigned i = 0; i < gpu.profile_count; ++i) smallest = std::min(smallest, gpu.profiles[i].multiprocessors);
  return slices * smallest;
}

nvml::Return create_compute(State& state, Gpu& gpu, unsigned gi, unsigned compute_profile, unsigned& ci,
                            const fs::path& root) {
  Instance& instance = gpu.instances[gi];
  unsigned slices = 0;
  if (!compute_slices(gpu.profiles[instance.profile], compute_profile, slices)) return nvml::kInvalidArgument;
  const auto taken = [&](unsigned start) {
    return std::ranges::any_of(instance.computes, [&](const Compute& other) {
      return other.used && overlap(start, slices, other.start, other.slices);
    });
  };
  unsigned start = 0;
  while (start + slices <= slices_of(gpu, instance) && taken(start)) ++start;
  if (start + slices > slices_of(gpu, instance)) return nvml::kInsufficientResources;
  Compute* compute = std::ranges::find(instance.computes, false, &Compute::used);
  // A freed index stays a gap until the next instance takes it.
  MigDevice* slot = std::find_if(gpu.mig_devices, gpu.mig_devices + gpu.mig_max_devices,
                                 [](const MigDevice& device) { return !device.used; });
  if (compute == std::end(instance.computes) || slot == gpu.mig_devices + gpu.mig_max_devices)
    return nvml::kInsufficientResources;
  ci = static_cast<unsigned>(compute - instance.computes);
  *compute = {true, compute_profile, start, slices, state.next_serial++, {}};
  const unsigned long long place = index_of(state, gpu) << 16 | gi << 8 | ci;
  copy_text(compute->uuid, sizeof compute->uuid, make_uuid("MIG-", place << 32 | compute->serial));
  *slot = {true, gi, ci};
  write_capability(root, gpu, gi, ci);
  push_event(state, index_of(state, gpu), nvml::kEventMigConfigChange, 0);
  return nvml::kSuccess;
}

nvml::Return destroy_compute(State& state, Gpu& gpu, unsigned gi, unsigned ci, const fs::path& root) {
  if (gi >= kMaxInstances || ci >= kMaxComputes || !gpu.instances[gi].computes[ci].used) return nvml::kInvalidArgument;
  if (has_process(gpu, gi, ci)) return nvml::kInUse;
  gpu.instances[gi].computes[ci] = {};
  for (MigDevice& device : gpu.mig_devices) {
    if (device.gi == gi && device.ci == ci) device.used = false;
  }
  remove_capability(root, gpu, gi, ci);
  push_event(state, index_of(state, gpu), nvml::kEventMigConfigChange, 0);
  return nvml::kSuccess;
}

unsigned capability_minor(unsigned gpu_minor, unsigned gi, unsigned ci) {
  const unsigned instance = gpu_minor * kMaxInstances + gi;
  const unsigned first = kFirstCapability + instance * kCapabilitiesPerInstance;
  return ci == nvml::kNoInstance ? first : first + 1 + ci;
}

void write_capability(const fs::path& root, const Gpu& gpu, unsigned gi, unsigned ci) {
  if (root.empty()) return;
  // A confined process may be unable to write. The instance exists nevertheless.
  std::error_code ignored;
  const fs::path folder = capability_folder(root, gpu, gi, ci);
  fs::create_directories(folder, ignored);
  std::ofstream(folder / "access") << "DeviceFileMinor: " << capability_minor(gpu.minor, gi, ci)
                                   << "\nDeviceFileMode: 292\nDeviceFileModify: 1\n";
  fs::create_directories(root / "dev/nvidia-caps", ignored);
  const std::ofstream node(capability_node(root, gpu, gi, ci));
}

void remove_capability(const fs::path& root, const Gpu& gpu, unsigned gi, unsigned ci) {
  if (root.empty()) return;
  std::error_code ignored;
  fs::remove_all(capability_folder(root, gpu, gi, ci), ignored);
  fs::remove(capability_node(root, gpu, gi, ci), ignored);
}

}  // namespace cardcage::fake_nvml
