// Settings of a whole GPU that claims change and change back.
#pragma once

#include <cardcage/sdk.hpp>
#include <string>
#include <vector>

#include "modules/nvidia/gpu.h"

namespace cardcage::nvidia {

// nvml::ComputeMode. Throw nvml::Failure.
unsigned compute_mode(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu);
void set_compute_mode(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu, unsigned mode);

// While it is on, nvidia-persistenced has the GPU open. False if the driver has no such mode. Throw nvml::Failure.
bool is_persistent(const nvml::Library& nvml, nvml::Device device);
void set_persistent(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu, bool on);

// Runs the driver's nvidia-smi for functions that NVML lacks.
struct SmiRunner {
  cage::Host host;
  std::vector<std::string> environment;
};
// Throw cage::Error.
void set_time_slice(const cage::Call& call, const SmiRunner& smi, const std::string& uuid, unsigned interval);
// Resets the GPUs, by bus id, together, because GPUs that NVLink connects may need it. No process may have them open.
void reset_gpus(const cage::Call& call, const SmiRunner& smi, const std::vector<std::string>& bus_ids);

}  // namespace cardcage::nvidia
