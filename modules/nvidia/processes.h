// The processes that use a GPU.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "modules/nvidia/nvml/library.h"

namespace cardcage::nvidia {

struct GpuProcess {
  unsigned pid = 0;  // as the module sees it; 0 if it is in another PID namespace
  std::string name;  // empty if /proc does not show it
  friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

// The processes on the GPU, or on one of its GPU instances alone. Sorted by pid. Throws nvml::Failure.
std::vector<GpuProcess> processes_on(const nvml::Library& nvml, nvml::Device device,
                                     std::optional<unsigned> gpu_instance, const std::filesystem::path& procfs);
// The processes that have the device node open, including those that do not use the GPU, such as monitoring. Sorted by
// pid; processes outside the PID namespace are missing.
std::vector<GpuProcess> processes_with_open(const std::filesystem::path& node, const std::filesystem::path& procfs);
// The text for messages: "4711 (python3), 4712 (python3)".
std::string to_text(const std::vector<GpuProcess>& processes);

}  // namespace cardcage::nvidia
