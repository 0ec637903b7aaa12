// The processes that use a GPU or a MIG device.
#include <cstdio>

#include "sim/nvml/library/entry.h"

using namespace cardcage::fake_nvml;

namespace {

// Drivers 535.43.02 to 535.86.10 write longer records in the _v3 functions.
bool has_long_records(const State& state) {
  unsigned branch = 0, minor = 0;
  std::sscanf(self().version[0] == '\0' ? state.kernel_version : self().version, "%u.%u", &branch, &minor);
  return branch == 535 && minor >= 43 && minor <= 86;
}

void write_record(nvml::ProcessInfo* processes, unsigned index, bool is_long, const Process& process) {
  const nvml::ProcessInfo record{process.pid, process.bytes, process.gi, process.ci};
  if (is_long)
    reinterpret_cast<nvml::LongProcessInfo*>(processes)[index] = {record, 0};
  else
    processes[index] = record;
}

Return list(Call id, nvml::Device device, Process::Kind kind, unsigned* count, nvml::ProcessInfo* processes) {
  return on_device(id, device, [&](State& state, const Target& target) {
    if (count == nullptr) return nvml::kInvalidArgument;
    const bool is_third = id == Call::nvmlDeviceGetComputeRunningProcesses_v3 ||
                          id == Call::nvmlDeviceGetGraphicsRunningProcesses_v3 ||
                          id == Call::nvmlDeviceGetMPSComputeRunningProcesses_v3;
    const unsigned room = processes == nullptr ? 0 : *count;
    unsigned found = 0;
    for (unsigned i = 0; i < target.gpu.process_count; ++i) {
      const Process& process = target.gpu.processes[i];
      if (process.kind != kind) continue;
      if (target.instance != nullptr && (process.gi != target.gi || process.ci != target.ci)) continue;
      if (found < room) write_record(processes, found, is_third && has_long_records(state), process);
      ++found;
    }
    *count = found;
    return found > room ? nvml::kInsufficientSize : nvml::kSuccess;
  });
}

}  // namespace

Return nvmlDeviceGetComputeRunningProcesses_v3(nvml::Device device, unsigned* count, nvml::ProcessInfo* processes) {
  return list(Call::nvmlDeviceGetComputeRunningProcesses_v3, device, Process::kCompute, count, processes);
}

Return nvmlDeviceGetComputeRunningProcesses_v2(nvml::Device device, unsigned* count, nvml::ProcessInfo* processes) {
  return list(Call::nvmlDeviceGetComputeRunningProcesses_v2, device, Process::kCompute, count, processes);
}

Return nvmlDeviceGetGraphicsRunningProcesses_v3(nvml::Device device, unsigned* count, nvml::ProcessInfo* processes) {
  return list(Call::nvmlDeviceGetGraphicsRunningProcesses_v3, device, Process::kGraphics, count, processes);
}

Return nvmlDeviceGetGraphicsRunningProcesses_v2(nvml::Device device, unsigned* count, nvml::ProcessInfo* processes) {
  return list(Call::nvmlDeviceGetGraphicsRunningProcesses_v2, device, Process::kGraphics, count, processes);
}

Return nvmlDeviceGetMPSComputeRunningProcesses_v3(nvml::Device device, unsigned* count, nvml::ProcessInfo* processes) {
  return list(Call::nvmlDeviceGetMPSComputeRunningProcesses_v3, device, Process::kMps, count, processes);
}
