// Compute instances.
#include "sim/nvml/library/entry.h"
#include "sim/nvml/library/tags.h"

using namespace cardcage::fake_nvml;

namespace {

template <class T>
Return fill(const Target& target, unsigned profile_id, unsigned engine_profile, T& info) {
  if (profile_id >= nvml::kComputeInstanceProfiles || engine_profile != nvml::kSharedEngines)
    return nvml::kInvalidArgument;
  const Profile& profile = target.gpu.profiles[target.instance->profile];
  unsigned slices = 0;
  if (!compute_slices(profile, profile_id, slices)) return nvml::kNotSupported;
  info.id = profile_id;
  info.sliceCount = slices;
  info.instanceCount = profile.slices / slices;
  info.multiprocessorCount = compute_multiprocessors(target.gpu, profile, slices);
  info.sharedCopyEngineCount = profile.copy_engines;
  info.sharedDecoderCount = profile.decoders;
  info.sharedEncoderCount = profile.encoders;
  info.sharedJpegCount = profile.jpeg_engines;
  info.sharedOfaCount = profile.ofa_engines;
  return nvml::kSuccess;
}

// The name such as "MIG 1c.3g.40gb", or "MIG 3g.40gb" for all slices.
std::string name_of(const Profile& profile, unsigned slices) {
  std::string name = profile.name;
  if (slices != profile.slices) name.insert(name.find(' ') + 1, std::to_string(slices) + "c.");
  return name;
}

}  // namespace

Return nvmlGpuInstanceGetComputeInstanceProfileInfo(nvml::GpuInstance instance, unsigned profile,
                                                    unsigned engine_profile, nvml::ComputeInstanceProfileInfo* info) {
  return on_instance(Call::nvmlGpuInstanceGetComputeInstanceProfileInfo, HandleKind::kInstance, instance,
                     [&](State&, const Target& target) {
                       return info == nullptr ? nvml::kInvalidArgument : fill(target, profile, engine_profile, *info);
                     });
}

Return nvmlGpuInstanceGetComputeInstanceProfileInfoV(nvml::GpuInstance instance, unsigned profile,
                                                     unsigned engine_profile, void* info) {
  return on_instance(Call::nvmlGpuInstanceGetComputeInstanceProfileInfoV, HandleKind::kInstance, instance,
                     [&](State&, const Target& target) {
                       auto* to = static_cast<nvml::ComputeInstanceProfileInfo2*>(info);
                       if (const Return code = check_tag(to); code != nvml::kSuccess) return code;
                       const Return code = fill(target, profile, engine_profile, *to);
                       if (code != nvml::kSuccess) return code;
                       const Profile& parent = target.gpu.profiles[target.instance->profile];
                       copy_text(to->name, sizeof to->name, name_of(parent, to->sliceCount));
                       return nvml::kSuccess;
                     });
}

Return nvmlGpuInstanceCreateComputeInstance(nvml::GpuInstance instance, unsigned profile_id,
                                            nvml::ComputeInstance* compute) {
  return on_instance(Call::nvmlGpuInstanceCreateComputeInstance, HandleKind::kInstance, instance,
                     [&](State& state, const Target& target) {
                       if (compute == nullptr) return nvml::kInvalidArgument;
                       unsigned ci = 0;
                       const Return code = create_compute(state, target.gpu, target.gi, profile_id, ci, self().root);
                       if (code != nvml::kSuccess) return code;
                       *compute = compute_handle(state, index_of(state, target.gpu), target.gi, ci);
                       return nvml::kSuccess;
                     });
}

Return nvmlGpuInstanceGetComputeInstances(nvml::GpuInstance instance, unsigned profile_id,
                                          nvml::ComputeInstance* instances, unsigned* count) {
  return on_instance(Call::nvmlGpuInstanceGetComputeInstances, HandleKind::kInstance, instance,
                     [&](State& state, const Target& target) {
                       if (instances == nullptr || count == nullptr) return nvml::kInvalidArgument;
                       if (profile_id >= nvml::kComputeInstanceProfiles) return nvml::kInvalidArgument;
                       *count = 0;
                       for (unsigned ci = 0; ci < kMaxComputes; ++ci) {
                         const Compute& found = target.instance->computes[ci];
                         if (found.used && found.profile == profile_id)
                           instances[(*count)++] = compute_handle(state, index_of(state, target.gpu), target.gi, ci);
                       }
                       return nvml::kSuccess;
                     });
}

Return nvmlGpuInstanceGetComputeInstanceById(nvml::GpuInstance instance, unsigned id, nvml::ComputeInstance* compute) {
  return on_instance(Call::nvmlGpuInstanceGetComputeInstanceById, HandleKind::kInstance, instance,
                     [&](State& state, const Target& target) {
                       if (id >= kMaxComputes || !target.instance->computes[id].used) return nvml::kNotFound;
                       return give(compute, compute_handle(state, index_of(state, target.gpu), target.gi, id));
                     });
}

Return nvmlComputeInstanceGetInfo_v2(nvml::ComputeInstance instance, nvml::ComputeInstanceInfo* info) {
  return on_instance(Call::nvmlComputeInstanceGetInfo_v2, HandleKind::kCompute, instance,
                     [&](State& state, const Target& target) {
                       if (info == nullptr) return nvml::kInvalidArgument;
                       const unsigned gpu = index_of(state, target.gpu);
                       *info = {mig_handle(state, gpu, target.gi, target.ci),
                                instance_handle(state, gpu, target.gi),
                                target.ci,
                                target.compute->profile,
                                {target.compute->start, target.compute->slices}};
                       return nvml::kSuccess;
                     });
}

Return nvmlComputeInstanceDestroy(nvml::ComputeInstance instance) {
  return on_instance(Call::nvmlComputeInstanceDestroy, HandleKind::kCompute, instance,
                     [&](State& state, const Target& target) {
                       return destroy_compute(state, target.gpu, target.gi, target.ci, self().root);
                     });
}
