// One GPU, as the driver describes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "modules/nvidia/nvml/library.h"

namespace cardcage::nvidia {

struct Gpu {
  std::string uuid, bus_id;       // "GPU-...", "0000:3b:00.0": both stay when minor numbers and NVML's indices change
  std::string nvml_bus_id;        // as NVML spells it: "00000000:3B:00.0"
  unsigned minor = 0;             // as in /dev/nvidiaN
  std::optional<unsigned> index;  // among the GPUs that NVML counts
  std::string product;
  std::string brand, architecture;  // as NVIDIA's DRA driver spells them
  std::optional<std::pair<int, int>> compute_capability;
  std::optional<std::string> addressing_mode;
  std::optional<std::uint64_t> memory;  // bytes; nothing where the GPU shares the memory of the CPU
  std::string serial;
  std::optional<unsigned> module_id;           // its place on a board with NVSwitches
  unsigned virtualization = nvml::kBareMetal;  // nvml::VirtualizationMode
  bool mig_capable = false, mig_enabled = false;
  std::string clique;  // "CLUSTER-UUID.ID" of its NVLink fabric once that is complete
};

// Versions, which are the same for all GPUs of a node.
struct DriverVersions {
  std::string driver;  // "580.65.06"
  std::string cuda;    // "13.0"; empty if unknown
};
DriverVersions read_versions(const nvml::Library& nvml);

// Throws nvml::Failure if the GPU does not respond, or does not return a value that decides about its devices. Any
// other getter that fails leaves its value out.
Gpu read_gpu(const nvml::Library& nvml, nvml::Device device);

// nvml::EnableState, now and after the next reset.
struct MigModes {
  unsigned current = nvml::kDisabled, pending = nvml::kDisabled;
};
// Nothing for a GPU without MIG. Throws nvml::Failure.
std::optional<MigModes> read_mig_mode(const nvml::Library& nvml, nvml::Device device, const std::string& bus_id);

// In a virtual machine the MIG mode changes only with a restart of the machine; for a vGPU it is set by the host.
inline bool has_fixed_mig_mode(const Gpu& gpu) {
  return gpu.virtualization == nvml::kPassthrough || gpu.virtualization == nvml::kVgpuGuest;
}

// The instances of a vGPU are made by its host.
inline bool has_instances_of_host(const Gpu& gpu) { return gpu.virtualization == nvml::kVgpuGuest; }

// The name of its device in Kubernetes, as NVIDIA's DRA driver gives it: gpu-0.
std::string device_name(const Gpu& gpu);

// Versions of the driver may have leading zeros and two to four parts; semver has three without: "570.86.5".
std::string semantic_version(const std::string& version);

}  // namespace cardcage::nvidia
