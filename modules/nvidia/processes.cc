#include "modules/nvidia/processes.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>

#include "modules/common/process.h"

namespace cardcage::nvidia {
namespace {

using List = nvml::Return (*)(nvml::Device, unsigned*, nvml::ProcessInfo*);

// The records that a driver writes one after the other. Their size depends on the driver and is not reported, so the
// buffer has room for larger ones, and the bytes written show the size.
class Records {
 public:
  explicit Records(unsigned count) : bytes_(count * kRoom, kUnwritten) {}
  nvml::ProcessInfo* data() { return reinterpret_cast<nvml::ProcessInfo*>(bytes_.data()); }
  // The first `count` records. Throws cage::Error if the driver's records have an unknown form.
  std::vector<nvml::ProcessInfo> take(unsigned count) const {
    const auto last = std::find_if(bytes_.rbegin(), bytes_.rend(), [](std::byte one) { return one != kUnwritten; });
    const auto written = static_cast<std::size_t>(bytes_.rend() - last);
    const std::size_t size =
        written <= count * sizeof(nvml::ProcessInfo) ? sizeof(nvml::ProcessInfo) : sizeof(nvml::LongProcessInfo);
    if (written > count * size)
      throw cage::Error(CAGE_INTERNAL, "the NVIDIA driver lists processes in a form that this module does not know");
    std::vector<nvml::ProcessInfo> processes(count);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(&processes[i], &bytes_[i * size], sizeof processes[i]);
    return processes;
  }

 private:
  static constexpr std::size_t kRoom = 256;     // for one record, far more than any driver writes
  static constexpr std::byte kUnwritten{0xa5};  // no record ends with it
  std::vector<std::byte> bytes_;
};

// Empty if the driver has no such function.
std::vector<nvml::ProcessInfo> read(const nvml::Library& nvml, nvml::Device device, List list) {
  if (list == nullptr) return {};
  constexpr int kAttempts = 5;
  constexpr unsigned kNewOnes = 8;   // processes that may start meanwhile
  constexpr unsigned kMost = 65536;  // processes on a GPU
  unsigned room = 0;
  for (int i = 0; i < kAttempts; ++i) {
    Records records(room);
    unsigned count = room;
    const nvml::Return code = list(device, &count, records.data());
    if (means_absent(code)) return {};
    if (code != nvml::kInsufficientSize) nvml.must(code, "listing the processes on a GPU");
    if (code == nvml::kSuccess && count <= room) return records.take(count);
    if (code == nvml::kSuccess || count > kMost)
      throw cage::Error(CAGE_INTERNAL, "the NVIDIA driver lists " + std::to_string(count) + " processes on a GPU");
    room = std::max(count, room) + kNewOnes;
  }
  throw cage::Error(CAGE_UNAVAILABLE, "the processes on a GPU change faster than they can be listed");
}

List newest(List newer, List older) { return newer != nullptr ? newer : older; }

std::string process_name(unsigned pid, const std::filesystem::path& procfs) {
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
      if (!gpu_instance || one.gpuInstanceId == *gpu_instance)
        names.try_emplace(one.pid, process_name(one.pid, procfs));
  std::vector<GpuProcess> processes;
  for (auto& [pid, name] : names) processes.push_back({pid, std::move(name)});
  return processes;
}

std::vector<GpuProcess> processes_with_open(const std::filesystem::path& node, const std::filesystem::path& procfs) {
  std::vector<GpuProcess> processes;
  for (const std::string& number : hardware::pids_with_open(procfs, node, std::numeric_limits<std::size_t>::max())) {
    unsigned pid = 0;
    std::from_chars(number.data(), number.data() + number.size(), pid);
    processes.push_back({pid, process_name(pid, procfs)});
  }
  std::ranges::sort(processes, {}, &GpuProcess::pid);
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
