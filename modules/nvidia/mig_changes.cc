#include "modules/nvidia/mig_changes.h"

#include <array>

#include "modules/nvidia/nvml/instances.h"

namespace cardcage::nvidia {
namespace {

nvml::GpuInstance find_gpu_instance(const nvml::Library& nvml, nvml::Device device, unsigned profile, unsigned start) {
  for (const auto handle : nvml::gpu_instances(nvml, device, profile)) {
    const auto info = nvml::info_of(nvml, handle);
    if (info && info->placement.start == start) return handle;
  }
  return nullptr;
}

std::string place(const Gpu& gpu, const std::string& profile, unsigned start) {
  return "MIG instance " + profile + " at memory slice " + std::to_string(start) + " of GPU " + gpu.bus_id;
}

nvml::ComputeInstance make_compute_instance(const nvml::Library& nvml, nvml::GpuInstance instance,
                                            const MigProfile& profile, const std::string& what) {
  for (const auto& compute : nvml::compute_profiles(nvml, instance)) {
    if (compute.sliceCount != profile.compute_slices) continue;
    const auto found = nvml::compute_instances(nvml, instance, compute.id);
    if (!found.empty()) return found.front();
    nvml::ComputeInstance made = nullptr;
    nvml.must(nvml->nvmlGpuInstanceCreateComputeInstance(instance, compute.id, &made),
              "creating the compute instance of " + what);
    return made;
  }
  throw cage::Error(CAGE_FAILED_PRECONDITION, what + " has no compute instance profile that takes all of it");
}

void must_support_mig(const nvml::Library& nvml) {
  if (nvml->nvmlDeviceCreateGpuInstanceWithPlacement == nullptr || nvml->nvmlGpuInstanceDestroy == nullptr ||
      nvml->nvmlGpuInstanceCreateComputeInstance == nullptr || nvml->nvmlComputeInstanceDestroy == nullptr)
    throw cage::Error(CAGE_UNIMPLEMENTED, "the NVIDIA driver cannot create MIG instances; install 550 or later");
}

// Hopper and later change the mode at once; for others the driver reports whether they do.
bool changes_mode_without_reset(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu) {
  if (has_fixed_mig_mode(gpu)) return false;
  if (gpu.compute_capability && gpu.compute_capability->first >= 9) return true;
  nvml::FieldValue field{};
  field.fieldId = nvml::kFieldResetlessMig;
  if (nvml->nvmlDeviceGetFieldValues == nullptr) return false;
  const nvml::Return code = nvml->nvmlDeviceGetFieldValues(device, 1, &field);
  if (nvml::means_none(code)) return false;
  nvml.must(code, "asking whether GPU " + gpu.bus_id + " changes its MIG mode without a reset");
  return field.nvmlReturn == nvml::kSuccess && field.value.u != 0;
}

bool is_mig_enabled(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu) {
  const auto mode = read_mig_mode(nvml, device, gpu.bus_id);
  return mode && mode->current == nvml::kEnabled;
}

const char* needed_restart(const Gpu& gpu) { return has_fixed_mig_mode(gpu) ? "a restart of the machine" : "a reset"; }

// Throws nvml::Failure if the driver does not change the mode at once. It would change it at the next reset, so the
// mode that was pending before is made pending again: another program may have asked for that one.
void change_mig_mode(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu, unsigned wanted) {
  const std::string what =
      (wanted == nvml::kEnabled ? "turning on the MIG mode of GPU " : "turning off the MIG mode of GPU ") + gpu.bus_id;
  const auto before = read_mig_mode(nvml, device, gpu.bus_id);
  nvml::Return activation = nvml::kSuccess;
  nvml.must(nvml->nvmlDeviceSetMigMode(device, wanted, &activation), what);
  if (activation == nvml::kSuccess) return;
  nvml::Return ignored = nvml::kSuccess;
  if (before && before->pending != wanted) nvml->nvmlDeviceSetMigMode(device, before->pending, &ignored);
  nvml.must(activation, what + ", which another program may be using");
}

}  // namespace

MigInstance make_instance(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu, const MigProfile& profile,
                          nvml::Placement placement) {
  must_support_mig(nvml);
  const std::string what = place(gpu, profile.name, placement.start);
  // NVML returns INSUFFICIENT_RESOURCES for a place that is taken, even by the same instance.
  nvml::GpuInstance handle = find_gpu_instance(nvml, device, profile.id, placement.start);
  if (handle == nullptr)
    nvml.must(nvml->nvmlDeviceCreateGpuInstanceWithPlacement(device, profile.id, &placement, &handle),
              "creating " + what);
  const nvml::ComputeInstance compute = make_compute_instance(nvml, handle, profile, what);
  nvml::GpuInstanceInfo made{};
  nvml.must(nvml->nvmlGpuInstanceGetInfo(handle, &made), "looking at " + what);
  nvml::ComputeInstanceInfo info{};
  nvml.must(nvml->nvmlComputeInstanceGetInfo_v2(compute, &info), "looking at the compute instance of " + what);
  std::array<char, nvml::kUuidSize> uuid{};
  nvml.must(nvml->nvmlDeviceGetUUID(info.device, uuid.data(), nvml::kUuidSize), "reading the UUID of " + what);
  return {.gpu_instance = made.id,
          .compute_instance = info.id,
          .uuid = nvml::text_in(uuid),
          .profile = profile.id,
          .placement = made.placement};
}

void remove_instance(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu, unsigned profile, unsigned start) {
  const nvml::GpuInstance handle = find_gpu_instance(nvml, device, profile, start);
  if (handle == nullptr) return;
  must_support_mig(nvml);
  const std::string what = place(gpu, "with profile " + std::to_string(profile), start);
  for (const auto& compute : nvml::compute_profiles(nvml, handle))
    for (const auto one : nvml::compute_instances(nvml, handle, compute.id))
      nvml.must(nvml->nvmlComputeInstanceDestroy(one), "destroying the compute instance of " + what);
  nvml.must(nvml->nvmlGpuInstanceDestroy(handle), "destroying " + what);
}

std::vector<InstancePlace> instance_places(const nvml::Library& nvml, nvml::Device device,
                                           const std::vector<MigProfile>& profiles) {
  std::vector<InstancePlace> places;
  for (const MigProfile& profile : profiles)
    for (const auto handle : nvml::gpu_instances(nvml, device, profile.id))
      if (const auto info = nvml::info_of(nvml, handle))
        places.push_back({.profile = profile.id, .start = info->placement.start});
  return places;
}

void enable_mig(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu) {
  if (is_mig_enabled(nvml, device, gpu)) return;
  if (nvml->nvmlDeviceSetMigMode == nullptr)
    throw cage::Error(CAGE_UNIMPLEMENTED, "the NVIDIA driver cannot change the MIG mode; install 550 or later");
  if (!changes_mode_without_reset(nvml, device, gpu))
    throw cage::Error(CAGE_FAILED_PRECONDITION,
                      "MIG mode of GPU " + gpu.bus_id + " is off, and turning it on needs " + needed_restart(gpu) +
                          "; turn it on before pods come: nvidia-smi -i " + gpu.uuid + " -mig 1");
  change_mig_mode(nvml, device, gpu, nvml::kEnabled);
}

void disable_unused_mig(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu) {
  if (!is_mig_enabled(nvml, device, gpu) || nvml->nvmlDeviceSetMigMode == nullptr) return;
  if (!changes_mode_without_reset(nvml, device, gpu)) return;
  for (const MigProfile& profile : read_mig_profiles(nvml, device, gpu))
    if (!nvml::gpu_instances(nvml, device, profile.id).empty()) return;
  change_mig_mode(nvml, device, gpu, nvml::kDisabled);
}

void require_mig_off(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu) {
  disable_unused_mig(nvml, device, gpu);
  const auto modes = read_mig_mode(nvml, device, gpu.bus_id);
  if (!modes || modes->current == nvml::kDisabled) return;
  const std::string remedy = modes->pending == nvml::kDisabled
                                 ? std::string("the mode ends with ") + needed_restart(gpu)
                                 : "remove its instances and turn the mode off: nvidia-smi -i " + gpu.uuid + " -mig 0";
  throw cage::Error(CAGE_FAILED_PRECONDITION,
                    "GPU " + gpu.bus_id + " is in MIG mode and cannot be used as a whole; " + remedy);
}

}  // namespace cardcage::nvidia
