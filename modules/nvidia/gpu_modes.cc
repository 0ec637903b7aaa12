#include "modules/nvidia/gpu_modes.h"

#include <chrono>

namespace cardcage::nvidia {
namespace {

constexpr std::chrono::seconds kSettingLimit{15}, kResetLimit{60};

void run_smi(const cage::Call& call, const SmiRunner& smi, const std::string& doing, std::vector<std::string> arguments,
             std::chrono::milliseconds limit) {
  const cage::ProgramResult result = smi.host.run(
      call, {.name = "nvidia-smi", .arguments = std::move(arguments), .environment = smi.environment, .limit = limit});
  if (result.exit_status == 0) return;
  const std::string& said = result.err.empty() ? result.out : result.err;
  throw cage::Error(CAGE_UNAVAILABLE,
                    doing + ": nvidia-smi " + (result.timed_out ? "did not end in time" : "failed: " + said));
}

}  // namespace

unsigned compute_mode(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu) {
  unsigned mode = nvml::kComputeDefault;
  if (nvml->nvmlDeviceGetComputeMode != nullptr)
    nvml.must(nvml->nvmlDeviceGetComputeMode(device, &mode), "reading the compute mode of GPU " + gpu.bus_id);
  return mode;
}

void set_compute_mode(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu, unsigned mode) {
  if (compute_mode(nvml, device, gpu) == mode || nvml->nvmlDeviceSetComputeMode == nullptr) return;
  nvml.must(nvml->nvmlDeviceSetComputeMode(device, mode), "setting the compute mode of GPU " + gpu.bus_id);
}

bool is_persistent(const nvml::Library& nvml, nvml::Device device) {
  return nvml->nvmlDeviceSetPersistenceMode != nullptr &&
         nvml.find<unsigned>("reading the persistence mode", nvml->nvmlDeviceGetPersistenceMode, device)
                 .value_or(nvml::kDisabled) == nvml::kEnabled;
}

void set_persistent(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu, bool on) {
  if (nvml->nvmlDeviceSetPersistenceMode == nullptr) return;
  nvml.must(nvml->nvmlDeviceSetPersistenceMode(device, on ? nvml::kEnabled : nvml::kDisabled),
            "setting the persistence mode of GPU " + gpu.bus_id);
}

void set_time_slice(const cage::Call& call, const SmiRunner& smi, const std::string& uuid, unsigned interval) {
  run_smi(call, smi, "setting the time slice of GPU " + uuid,
          {"compute-policy", "-i", uuid, "--set-timeslice", std::to_string(interval)}, kSettingLimit);
}

void reset_gpus(const cage::Call& call, const SmiRunner& smi, const std::vector<std::string>& bus_ids) {
  std::string list;
  for (const std::string& bus_id : bus_ids) list += (list.empty() ? "" : ",") + bus_id;
  run_smi(call, smi, "resetting GPU " + list, {"--gpu-reset", "-i", list}, kResetLimit);
}

}  // namespace cardcage::nvidia
