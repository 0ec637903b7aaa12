// Partitions of a GPU (Multi-Instance GPU): the possible and the existing ones.
//
// A partition is a GPU instance with one compute instance that takes all of it. Its profile has an id, which is neither
// the index in NVML's list of profiles nor unique across products. Its placement counts memory slices: 8 on A100 and
// H100, 4 on A30, 12 on RTX PRO 6000.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "modules/nvidia/gpu.h"
#include "modules/nvidia/nvml/library.h"

namespace cardcage::nvidia {

struct MigProfile {
  unsigned id = 0;
  std::string name;             // "1g.10gb", "1g.10gb+me"
  unsigned compute_slices = 0;  // per GPU instance
  unsigned multiprocessors = 0, copy_engines = 0, decoders = 0, encoders = 0, jpeg_engines = 0, ofa_engines = 0;
  std::uint64_t memory_mib = 0;
  bool graphics = false;
  std::vector<nvml::Placement> placements;
};

struct MigInstance {
  unsigned gpu_instance = 0, compute_instance = 0;
  std::string uuid;      // "MIG-..."
  unsigned profile = 0;  // MigProfile::id
  nvml::Placement placement{};
};

// All profiles that the GPU offers now, by id; none below driver 550 while MIG is off.
std::vector<MigProfile> read_mig_profiles(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu);

// The instances that exist, by placement. An instance whose compute instance does not take all of it is left out: two
// such instances would share a name.
std::vector<MigInstance> read_mig_instances(const nvml::Library& nvml, nvml::Device device,
                                            const std::vector<MigProfile>& profiles);

// As NVIDIA's DRA driver names it: gpu-0-mig-1g10gb-19-0.
std::string mig_device_name(const Gpu& gpu, const MigProfile& profile, unsigned start);

}  // namespace cardcage::nvidia
