#include "modules/nvidia/leftovers.h"

#include <algorithm>
#include <chrono>

#include "modules/common/process.h"
#include "modules/nvidia/mebibyte.h"

namespace cardcage::nvidia {
namespace {

constexpr std::chrono::seconds kEndLimit{5};  // for killed processes to exit
constexpr std::chrono::milliseconds kExitPollInterval{50};
constexpr unsigned long long kIdleMemory = 256 * kMib;  // an idle GPU uses less

}  // namespace

std::vector<GpuProcess> LeftoverProcesses::processes_of(const Target& target) {
  if (!target.responds()) {
    const bool unknown = target.gpu != nullptr && !target.gpu->released && !target.gpu->lost;
    if (unknown && policy_ != Leftovers::kReport)
      throw cage::Error(CAGE_UNAVAILABLE, "GPU " + target.gpu->gpu.bus_id + " may be in use: " + target.gpu->fault);
    return {};
  }
  std::optional<unsigned> gpu_instance;
  if (target.instance != nullptr) gpu_instance = target.instance->gpu_instance;
  if (target.profile != nullptr) {
    const auto made = std::ranges::find_if(target.gpu->instances, [&](const MigInstance& one) {
      return one.profile == target.profile->id && one.placement.start == target.start;
    });
    if (made == target.gpu->instances.end()) return {};
    gpu_instance = made->gpu_instance;
  }
  try {
    return processes_on(driver_.nvml(), driver_.handle(target.gpu->gpu), gpu_instance, driver_.node().procfs);
  } catch (const cage::Error& error) {
    // A policy that needs to know that no process runs cannot ignore the error.
    if (policy_ != Leftovers::kReport) throw;
    host_.debug() << error.what();
    return {};
  }
}

unsigned long long LeftoverProcesses::memory_in_use(const Target& target) {
  if (!target.responds() || !target.is_whole()) return 0;
  try {
    const nvml::Device handle = driver_.handle(target.gpu->gpu);
    const auto memory = nvml::get_tagged<nvml::Memory2>(driver_.nvml()->nvmlDeviceGetMemoryInfo_v2, handle);
    return memory ? memory->used : 0;
  } catch (const cage::Error& error) {
    host_.debug() << error.what();
    return 0;
  }
}

void LeftoverProcesses::require_none(const cage::Allocation& device, const std::optional<PciGpu>& function) {
  if (has_company(device)) return;
  if (policy_ != Leftovers::kReport) driver_.look();  // instances are renumbered
  Target target = find_target(driver_.inventory(), device.device());
  if (function) target.gpu = driver_.inventory().at(function->bus_id);
  const auto processes = processes_of(target);
  if (processes.empty()) return;
  const std::string what = "GPU " + target.gpu->gpu.bus_id + " is used by process " + to_text(processes);
  if (policy_ != Leftovers::kReport || function)
    throw cage::Error(CAGE_UNAVAILABLE, what + "; end it, or wait until it has ended");
  host_.warn() << what << ", and a claim gets it";
}

void LeftoverProcesses::end(const cage::Call& call, const cage::Claim& claim) {
  if (policy_ != Leftovers::kReport) driver_.look();  // instances are renumbered
  for (const cage::Allocation& device : claim.allocations()) end(call, device);
}

std::string LeftoverProcesses::kill(const Target& target, const std::vector<GpuProcess>& processes) const {
  const auto node = driver_.node().devfs / ("nvidia" + std::to_string(target.gpu->gpu.minor));
  std::string spared;
  for (const GpuProcess& one : processes)
    if (const std::string reason = hardware::kill_user_of(node, one.pid); !reason.empty())
      spared += "; process " + to_text({one}) + " was not killed: " + reason;
  return spared;
}

void LeftoverProcesses::end(const cage::Call& call, const cage::Allocation& device) {
  if (has_company(device)) return;
  const Target target = find_target(driver_.inventory(), device.device());
  auto processes = processes_of(target);
  std::string spared;
  if (!processes.empty() && policy_ == Leftovers::kEnd) {
    host_.warn() << "ending process " << to_text(processes) << " on GPU " << target.gpu->gpu.bus_id
                 << ", whose claim is released";
    spared = kill(target, processes);
    call.wait_for(kEndLimit, kExitPollInterval, [&] {
      processes = processes_of(target);
      return processes.empty() || !spared.empty();
    });
  }
  if (!processes.empty()) {
    const std::string what = "process " + to_text(processes) + " is still on GPU " + target.gpu->gpu.bus_id +
                             ", whose claim is released" + spared;
    if (policy_ != Leftovers::kReport) throw cage::Error(CAGE_UNAVAILABLE, what);
    host_.warn() << what;
  } else if (const auto used = memory_in_use(target); used > kIdleMemory) {
    host_.warn() << "no process is on GPU " << target.gpu->gpu.bus_id << ", and " << used / kMib
                 << " MiB of its memory are in use; a reset frees them: nvidia-smi --gpu-reset";
  }
}

}  // namespace cardcage::nvidia
