// The processes that use a GPU or a MIG device.
#include "tests/fakes/nvml/library/entry.h"

using namespace cardcage::fake_nvml;

namespace {

Return list(Call id, nvml::Device device, Process::Kind kind, unsigned* count, nvml::ProcessInfo* processes) {
  return on_device(id, device, [&](State&, const Target& target) {
    if (count == nullptr) return nvml::kInvalidArgument;
    const unsigned room = processes == nullptr ? 0 : *count;
    unsigned found = 0;
    for (unsigned i = 0; i < target.gpu.process_count; ++i) {
      const Process& process = target.gpu.processes[i];
      if (process.kind != kind) continue;
      if (target.instance != nullptr && (process.gi != target.gi || process.ci != target.ci)) continue;
      if (found < room) processes[found] = {process.pid, process.bytes, process.gi, process.ci};
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
