// MIG mode, MIG devices and GPU instances.
#include <algorithm>

#include "sim/nvml/library/entry.h"
#include "sim/nvml/library/tags.h"

using namespace cardcage::fake_nvml;

namespace {

// The number of indices in the enumeration of profiles.
unsigned profile_limit() {
  if (branch() < 570) return 0xa;
  if (branch() < 575) return 0xd;
  return branch() < 595 ? 0x11 : nvml::kGpuInstanceProfiles;
}

// Drivers before 550 list profiles and placements only in MIG mode.
Return check_profiles(const Gpu& gpu) {
  if (!gpu.mig_capable) return nvml::kNotSupported;
  return branch() < 550 && gpu.mig_mode != nvml::kEnabled ? nvml::kNotSupported : nvml::kSuccess;
}

Return profile_at(const Gpu& gpu, unsigned index, const Profile** found) {
  if (index >= profile_limit()) return nvml::kInvalidArgument;
  if (const Return code = check_profiles(gpu); code != nvml::kSuccess) return code;
  const Profile* end = gpu.profiles + gpu.profile_count;
  *found = std::find_if(gpu.profiles, end, [index](const Profile& profile) { return profile.index == index; });
  return *found == end ? nvml::kNotSupported : nvml::kSuccess;
}

// Fills the members that all versions have.
template <class T>
void fill(T& info, const Profile& profile) {
  info.id = profile.id;
  info.sliceCount = profile.slices;
  info.instanceCount = profile.instances;
  info.multiprocessorCount = profile.multiprocessors;
  info.copyEngineCount = profile.copy_engines;
  info.decoderCount = profile.decoders;
  info.encoderCount = profile.encoders;
  info.jpegCount = profile.jpeg_engines;
  info.ofaCount = profile.ofa_engines;
  info.memorySizeMB = profile.memory_mib;
}

unsigned p2p(const Profile& profile) { return (profile.capabilities & nvml::kProfileP2p) != 0 ? 1 : 0; }

// Calls f(Target), for a MIG device.
template <class F>
Return on_mig(Call id, nvml::Device device, F f) {
  return on_device(id, device, [&](State&, const Target& target) {
    return target.instance == nullptr ? nvml::kInvalidArgument : f(target);
  });
}

}  // namespace

Return nvmlDeviceGetMigMode(nvml::Device device, unsigned* current, unsigned* pending) {
  return on_gpu(Call::nvmlDeviceGetMigMode, device, [&](State&, Gpu& gpu) {
    if (!gpu.mig_capable) return nvml::kNotSupported;
    if (const Return code = give(current, gpu.mig_mode); code != nvml::kSuccess) return code;
    return give(pending, gpu.mig_pending);
  });
}

Return nvmlDeviceSetMigMode(nvml::Device device, unsigned mode, Return* activation) {
  return on_gpu(Call::nvmlDeviceSetMigMode, device, [&](State& state, Gpu& gpu) {
    return activation == nullptr ? nvml::kInvalidArgument : set_mig_mode(state, gpu, mode, *activation);
  });
}

Return nvmlDeviceGetMaxMigDeviceCount(nvml::Device device, unsigned* count) {
  return on_gpu(Call::nvmlDeviceGetMaxMigDeviceCount, device, [&](State&, Gpu& gpu) {
    // Without MIG this is 0, not an error.
    return give(count, gpu.mig_mode == nvml::kEnabled ? gpu.mig_max_devices : 0);
  });
}

Return nvmlDeviceGetMigDeviceHandleByIndex(nvml::Device device, unsigned index, nvml::Device* mig) {
  return on_gpu(Call::nvmlDeviceGetMigDeviceHandleByIndex, device, [&](State& state, Gpu& gpu) {
    if (!gpu.mig_capable) return nvml::kNotSupported;
    if (mig == nullptr || index >= gpu.mig_max_devices) return nvml::kInvalidArgument;
    const MigDevice& found = gpu.mig_devices[index];
    if (!found.used) return nvml::kNotFound;
    *mig = mig_handle(state, index_of(state, gpu), found.gi, found.ci);
    return nvml::kSuccess;
  });
}

Return nvmlDeviceIsMigDeviceHandle(nvml::Device device, unsigned* is_mig) {
  return on_device(Call::nvmlDeviceIsMigDeviceHandle, device,
                   [&](State&, const Target& target) { return give(is_mig, target.instance != nullptr ? 1 : 0); });
}

Return nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvml::Device mig, nvml::Device* device) {
  return on_device(Call::nvmlDeviceGetDeviceHandleFromMigDeviceHandle, mig, [&](State& state, const Target& target) {
    if (target.instance == nullptr) return nvml::kInvalidArgument;
    return give(device, device_handle(state, index_of(state, target.gpu)));
  });
}

Return nvmlDeviceGetGpuInstanceId(nvml::Device mig, unsigned* id) {
  return on_mig(Call::nvmlDeviceGetGpuInstanceId, mig, [&](const Target& target) { return give(id, target.gi); });
}

Return nvmlDeviceGetComputeInstanceId(nvml::Device mig, unsigned* id) {
  return on_mig(Call::nvmlDeviceGetComputeInstanceId, mig, [&](const Target& target) { return give(id, target.ci); });
}

Return nvmlDeviceGetAttributes_v2(nvml::Device mig, nvml::DeviceAttributes* attributes) {
  return on_mig(Call::nvmlDeviceGetAttributes_v2, mig, [&](const Target& target) {
    if (attributes == nullptr) return nvml::kInvalidArgument;
    const Profile& profile = target.gpu.profiles[target.instance->profile];
    *attributes = {compute_multiprocessors(target.gpu, profile, target.compute->slices),
                   profile.copy_engines,
                   profile.decoders,
                   profile.encoders,
                   profile.jpeg_engines,
                   profile.ofa_engines,
                   profile.slices,
                   target.compute->slices,
                   profile.memory_mib};
    return nvml::kSuccess;
  });
}

Return nvmlDeviceGetGpuInstanceProfileInfoV(nvml::Device device, unsigned profile, void* info) {
  return on_gpu(Call::nvmlDeviceGetGpuInstanceProfileInfoV, device, [&](State&, Gpu& gpu) {
    if (info == nullptr) return nvml::kInvalidArgument;
    const Profile* found = nullptr;
    if (has_tag<nvml::GpuInstanceProfileInfo3>(info)) {
      auto& newest = *static_cast<nvml::GpuInstanceProfileInfo3*>(info);
      if (const Return code = profile_at(gpu, profile, &found); code != nvml::kSuccess) return code;
      fill(newest, *found);
      copy_text(newest.name, sizeof newest.name, found->name);
      newest.capabilities = found->capabilities;
      return nvml::kSuccess;
    }
    if (!has_tag<nvml::GpuInstanceProfileInfo2>(info)) return nvml::kArgumentVersionMismatch;
    auto& older = *static_cast<nvml::GpuInstanceProfileInfo2*>(info);
    if (const Return code = profile_at(gpu, profile, &found); code != nvml::kSuccess) return code;
    fill(older, *found);
    copy_text(older.name, sizeof older.name, found->name);
    older.isP2pSupported = p2p(*found);
    return nvml::kSuccess;
  });
}

Return nvmlDeviceGetGpuInstanceProfileInfo(nvml::Device device, unsigned profile, nvml::GpuInstanceProfileInfo* info) {
  return on_gpu(Call::nvmlDeviceGetGpuInstanceProfileInfo, device, [&](State&, Gpu& gpu) {
    if (info == nullptr) return nvml::kInvalidArgument;
    const Profile* found = nullptr;
    if (const Return code = profile_at(gpu, profile, &found); code != nvml::kSuccess) return code;
    fill(*info, *found);
    info->isP2pSupported = p2p(*found);
    return nvml::kSuccess;
  });
}

Return nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvml::Device device, unsigned profile_id,
                                                     nvml::Placement* placements, unsigned* count) {
  return on_gpu(Call::nvmlDeviceGetGpuInstancePossiblePlacements_v2, device, [&](State&, Gpu& gpu) {
    if (count == nullptr) return nvml::kInvalidArgument;
    if (const Return code = check_profiles(gpu); code != nvml::kSuccess) return code;
    const Profile* profile = find_profile(gpu, profile_id);
    if (profile == nullptr) return nvml::kInvalidArgument;
    const unsigned room = *count;
    *count = profile->start_count;
    if (placements == nullptr) return nvml::kSuccess;
    if (room < *count) return nvml::kInsufficientSize;
    for (unsigned i = 0; i < *count; ++i) placements[i] = {profile->starts[i], profile->placement_size};
    return nvml::kSuccess;
  });
}

Return nvmlDeviceGetGpuInstances(nvml::Device device, unsigned profile_id, nvml::GpuInstance* instances,
                                 unsigned* count) {
  return on_gpu(Call::nvmlDeviceGetGpuInstances, device, [&](State& state, Gpu& gpu) {
    if (gpu.mig_mode != nvml::kEnabled) return nvml::kNotSupported;
    if (instances == nullptr || count == nullptr) return nvml::kInvalidArgument;
    const Profile* profile = find_profile(gpu, profile_id);
    if (profile == nullptr) return nvml::kInvalidArgument;
    // The caller's buffer has room for all instances of the profile; the input value of `count` is not read.
    *count = 0;
    for (unsigned gi = 0; gi < kMaxInstances; ++gi) {
      if (gpu.instances[gi].used && gpu.instances[gi].profile == static_cast<unsigned>(profile - gpu.profiles))
        instances[(*count)++] = instance_handle(state, index_of(state, gpu), gi);
    }
    return nvml::kSuccess;
  });
}

Return nvmlDeviceGetGpuInstanceById(nvml::Device device, unsigned id, nvml::GpuInstance* instance) {
  return on_gpu(Call::nvmlDeviceGetGpuInstanceById, device, [&](State& state, Gpu& gpu) {
    if (gpu.mig_mode != nvml::kEnabled) return nvml::kNotSupported;
    if (id >= kMaxInstances || !gpu.instances[id].used) return nvml::kNotFound;
    return give(instance, instance_handle(state, index_of(state, gpu), id));
  });
}

Return nvmlDeviceCreateGpuInstanceWithPlacement(nvml::Device device, unsigned profile_id,
                                                const nvml::Placement* placement, nvml::GpuInstance* instance) {
  return on_gpu(Call::nvmlDeviceCreateGpuInstanceWithPlacement, device, [&](State& state, Gpu& gpu) {
    if (placement == nullptr || instance == nullptr) return nvml::kInvalidArgument;
    const Profile* profile = find_profile(gpu, profile_id);
    if (profile != nullptr && placement->size != profile->placement_size) return nvml::kInvalidArgument;
    unsigned gi = 0;
    const Return code = create_instance(state, gpu, profile_id, placement->start, gi, self().root);
    if (code == nvml::kSuccess) *instance = instance_handle(state, index_of(state, gpu), gi);
    return code;
  });
}

Return nvmlGpuInstanceGetInfo(nvml::GpuInstance instance, nvml::GpuInstanceInfo* info) {
  return on_instance(Call::nvmlGpuInstanceGetInfo, HandleKind::kInstance, instance,
                     [&](State& state, const Target& target) {
                       if (info == nullptr) return nvml::kInvalidArgument;
                       const Profile& profile = target.gpu.profiles[target.instance->profile];
                       *info = {device_handle(state, index_of(state, target.gpu)),
                                target.gi,
                                profile.id,
                                {target.instance->start, profile.placement_size}};
                       return nvml::kSuccess;
                     });
}

Return nvmlGpuInstanceDestroy(nvml::GpuInstance instance) {
  return on_instance(
      Call::nvmlGpuInstanceDestroy, HandleKind::kInstance, instance,
      [&](State& state, const Target& target) { return destroy_instance(state, target.gpu, target.gi, self().root); });
}
