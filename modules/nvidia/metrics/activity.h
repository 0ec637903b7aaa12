// The activity of a GPU's units, measured by GPM: since driver 520, on Hopper and later.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>

#include "modules/nvidia/nvml/library.h"

namespace cardcage::nvidia {

// Means over the time between two samples. Nothing for a value that the GPU cannot measure.
struct Activity {
  std::optional<double> graphics, tensor, dram;    // 0 to 1
  std::optional<double> pcie_sent, pcie_received;  // bytes per second
};

// Takes samples of one GPU, or of one of its MIG instances. Must not outlive the library.
class ActivityMeter {
 public:
  // The activity since the last call; nothing at the first one. NVML needs 100 ms in between; the host asks less often.
  Activity measure(const nvml::Library& nvml, nvml::Device gpu, std::optional<unsigned> gpu_instance);

 private:
  using Sample = std::unique_ptr<std::remove_pointer_t<nvml::GpmSample>, nvml::Return (*)(nvml::GpmSample)>;

  std::optional<bool> is_supported_;
  Sample before_{nullptr, nullptr}, now_{nullptr, nullptr};
};

}  // namespace cardcage::nvidia
