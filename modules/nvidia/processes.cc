#include "modules/nvidia/processes.h"

#include <algorithm>
#include <fstream>
#include <map>

namespace cardcage::nvidia {
namespace {

using List = nvml::Return (*)(nvml::Device, unsigned*, nvml::ProcessInfo*);

// Nothing if the driver has no such function.
std::vector<nvml::ProcessInfo> read(const nvml::Library& nvml, nvml::Device device, List list) {
  if (list == nullptr) return {};
  std::vector<nvml::ProcessInfo> processes;
  constexpr int kAttempts = 5;
  for (int i = 0; i < kAttempts; ++i) {
    auto count = static_cast<unsigned>(processes.size());
    const nvml::Return code = list(device, &count, processes.data());
    if (means_absent(code)) return {};
    if (code != nvml::kInsufficientSize) {
      nvml.must(code, "listing the processes on a GPU");
      processes.resize(count);
      return processes;
    }
    constexpr unsigned kNewOnes = 8;  // may start meanwhile
    processes.resize(std::max<std::size_t>(count, processes.size()) + kNewOnes);
  }
  return {};
}

List newest(List newer, List older) { return newer != nullptr ? newer : older; }

std::string name_of(unsigned pid, const std::filesystem::path& procfs) {
  std::string name;
  std::ifstream file(procfs / std::to_string(pid) / "comm");
  std::getline(file, name);
  return name;
}

}  // namespace

std::vector<GpuProcess> processes_on(const nvml::Library& nvml, nvml::Device device,
                                     std::optional<unsigned> gpu_instance, const std::filesystem::path& procfs) {
  std::map<unsigned, std::string> names;  // a program that computes and draws is in two lists
  for (const List list :
       {newest(nvml->nvmlDeviceGetComputeRunningProcesses_v3, nvml->nvmlDeviceGetComputeRunningProcesses_v2),
        newest(nvml->nvmlDeviceGetGraphicsRunningProcesses_v3, nvml->nvmlDeviceGetGraphicsRunningProcesses_v2),
        nvml->nvmlDeviceGetMPSComputeRunningProcesses_v3})
    for (const nvml::ProcessInfo& one : read(nvml, device, list))
      if (!gpu_instance || one.gpuInstanceId == *gpu_instance) names.try_emplace(one.pid, name_of(one.pid, procfs));
  std::vector<GpuProcess> processes;
  for (auto& [pid, name] : names) processes.push_back({pid, std::move(name)});
  return processes;
}

std::string to_text(const std::vector<GpuProcess>& processes) {
  std::string text;
  for (const GpuProcess& one : processes) {
    if (!text.empty()) text += ", ";
    text += std::to_string(one.pid);
    if (!one.name.empty()) text += " (" + one.name + ")";
  }
  return text;
}

}  // namespace cardcage::nvidia
