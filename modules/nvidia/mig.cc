#include "modules/nvidia/mig.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <span>

#include "modules/nvidia/nvml/instances.h"

namespace cardcage::nvidia {
namespace {

// Reads the fields that the three revisions of NVML's struct have in common.
template <class Info>
MigProfile common_profile(const Info& info) {
  return {.id = info.id,
          .name = {},
          .compute_slices = info.sliceCount,
          .multiprocessors = info.multiprocessorCount,
          .copy_engines = info.copyEngineCount,
          .decoders = info.decoderCount,
          .encoders = info.encoderCount,
          .jpeg_engines = info.jpegCount,
          .ofa_engines = info.ofaCount,
          .memory_mib = info.memorySizeMB,
          .graphics = false,
          .placements = {}};
}

std::string profile_name(std::span<const char> text) {
  std::string name = nvml::text_in(text);
  return name.starts_with("MIG ") ? name.substr(4) : name;
}

// The name for drivers that report none, as other drivers print it: "1g.5gb", where the gigabytes are eighths of the
// memory, rounded.
std::string computed_name(unsigned index, const MigProfile& profile, std::uint64_t total_bytes) {
  constexpr std::array kMediaExtensions{7U, 8U};  // indices of profiles: REV1
  constexpr double kEighths = 8;
  const double mib = static_cast<double>(std::uint64_t{1} << 20);
  const double share = static_cast<double>(profile.memory_mib) * mib / static_cast<double>(total_bytes);
  const std::uint64_t total_gib = (total_bytes + (std::uint64_t{1} << 30) - 1) >> 30;
  const auto gib = std::lround(std::ceil(share * kEighths) / kEighths * static_cast<double>(total_gib));
  const bool media = std::ranges::find(kMediaExtensions, index) != kMediaExtensions.end();
  return std::to_string(profile.compute_slices) + "g." + std::to_string(gib) + "gb" + (media ? "+me" : "");
}

// Whether the driver has filled in the profile at the index. It has not if it does not know the struct or the index, or
// if the GPU has no such profile.
bool has_profile(const nvml::Library& nvml, nvml::Return code) {
  if (nvml::means_none(code) || nvml::means_absent(code) || code == nvml::kInvalidArgument ||
      code == nvml::kArgumentVersionMismatch)
    return false;
  nvml.must(code, "listing the MIG profiles");
  return true;
}

std::optional<MigProfile> read_profile(const nvml::Library& nvml, nvml::Device device, unsigned index, const Gpu& gpu) {
  const auto fill = [&]<class Info>(Info& info) {
    info.version = nvml::tag<Info>();
    return nvml->nvmlDeviceGetGpuInstanceProfileInfoV != nullptr &&
           has_profile(nvml, nvml->nvmlDeviceGetGpuInstanceProfileInfoV(device, index, &info));
  };
  if (nvml::GpuInstanceProfileInfo3 info{}; fill(info)) {
    MigProfile profile = common_profile(info);
    profile.name = profile_name(info.name);
    profile.graphics = (info.capabilities & nvml::kProfileGraphics) != 0;
    return profile;
  }
  if (nvml::GpuInstanceProfileInfo2 info{}; fill(info)) {
    MigProfile profile = common_profile(info);
    profile.name = profile_name(info.name);
    return profile;
  }
  nvml::GpuInstanceProfileInfo info{};
  if (nvml->nvmlDeviceGetGpuInstanceProfileInfo == nullptr || gpu.memory.value_or(0) == 0 ||
      !has_profile(nvml, nvml->nvmlDeviceGetGpuInstanceProfileInfo(device, index, &info)))
    return std::nullopt;
  MigProfile profile = common_profile(info);
  profile.name = computed_name(index, profile, *gpu.memory);
  return profile;
}

// The compute instance that takes the whole GPU instance.
std::optional<nvml::ComputeInstanceInfo> whole_compute_instance(const nvml::Library& nvml, nvml::GpuInstance instance,
                                                                unsigned compute_slices) {
  std::vector<nvml::ComputeInstance> found;
  for (const auto& profile : nvml::compute_profiles(nvml, instance))
    if (profile.sliceCount == compute_slices)
      std::ranges::copy(nvml::compute_instances(nvml, instance, profile.id), std::back_inserter(found));
  if (found.size() != 1) return std::nullopt;
  return nvml.find<nvml::ComputeInstanceInfo>("looking at a compute instance", nvml->nvmlComputeInstanceGetInfo_v2,
                                              found.front());
}

}  // namespace

std::vector<MigProfile> read_mig_profiles(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu) {
  std::vector<MigProfile> profiles;
  if (!gpu.mig_capable) return profiles;
  for (unsigned index = 0; index < nvml::kGpuInstanceProfiles; ++index) {
    auto profile = read_profile(nvml, device, index, gpu);
    if (!profile) continue;
    profile->placements = nvml::possible_placements(nvml, device, profile->id);
    if (!profile->placements.empty()) profiles.push_back(std::move(*profile));
  }
  std::ranges::sort(profiles, {}, &MigProfile::id);
  return profiles;
}

std::vector<MigInstance> read_mig_instances(const nvml::Library& nvml, nvml::Device device,
                                            const std::vector<MigProfile>& profiles) {
  std::vector<MigInstance> instances;
  for (const MigProfile& profile : profiles) {
    for (const nvml::GpuInstance handle : nvml::gpu_instances(nvml, device, profile.id)) {
      const auto info = nvml::info_of(nvml, handle);
      const auto compute = whole_compute_instance(nvml, handle, profile.compute_slices);
      if (!info || !compute || !nvml::is_possible(info->placement)) continue;
      std::array<char, nvml::kUuidSize> uuid{};
      nvml.must(nvml->nvmlDeviceGetUUID(compute->device, uuid.data(), nvml::kUuidSize),
                "reading the UUID of a MIG instance");
      instances.push_back({.gpu_instance = info->id,
                           .compute_instance = compute->id,
                           .uuid = nvml::text_in(uuid),
                           .profile = profile.id,
                           .placement = info->placement});
    }
  }
  std::ranges::sort(instances, {}, [](const MigInstance& one) { return one.placement.start; });
  return instances;
}

std::string mig_device_name(const Gpu& gpu, const MigProfile& profile, unsigned start) {
  std::string label;
  for (const char c : profile.name) {
    if (c == '.') continue;
    const auto byte = static_cast<unsigned char>(c);
    label += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '-';
  }
  return device_name(gpu) + "-mig-" + label + "-" + std::to_string(profile.id) + "-" + std::to_string(start);
}

}  // namespace cardcage::nvidia
