#include "modules/nvidia/sharing.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "modules/nvidia/mebibyte.h"

namespace cardcage::nvidia {
namespace {

// MPS takes whole mebibytes. `bytes` is a whole number.
unsigned long long mebibytes(std::string_view field, std::string_view bytes) {
  unsigned long long amount = 0;
  std::from_chars(bytes.data(), bytes.data() + bytes.size(), amount);
  if (amount < kMib)
    throw cage::Error(CAGE_INVALID_ARGUMENT,
                      std::string(field) + ": " + std::string(bytes) + " bytes are less than 1Mi, the least for MPS");
  return amount / kMib;
}

MpsSettings mps_settings(const cage::Values& params) {
  MpsSettings settings;
  if (params.given(field::kThreads))
    settings.thread_percentage = static_cast<unsigned>(params.integer(field::kThreads));
  if (params.given(field::kMemory)) settings.memory_mib = mebibytes(field::kMemory, params.text(field::kMemory));
  for (const auto& [device, amount] : params.map(field::kMemories))
    settings.memories_mib.emplace(device, mebibytes(std::string(field::kMemories) + "." + std::string(device), amount));
  settings.multi_user = params.boolean(field::kMultiUser);
  return settings;
}

}  // namespace

Sharing sharing_of(const cage::Allocation& device) {
  if (!device.has_params()) return {};
  const cage::Values params = device.params();
  const bool is_gpu = params.kind() == "GpuConfig";
  if (!is_gpu && params.kind() != "MigDeviceConfig") return {};
  if (!params.given(field::kSharing)) return {};
  if (!device.share().empty())
    throw cage::Error(CAGE_FAILED_PRECONDITION,
                      "request '" + std::string(device.request()) +
                          "': with the option memory_shares other claims may use the GPU at the same time, and "
                          "'sharing' would change it for all of them; remove it from the claim or its DeviceClass");
  if (device.admin()) {
    if (params.source(field::kSharing) == cage::Source::device_class) return {};
    throw cage::Error(CAGE_INVALID_ARGUMENT, "request '" + std::string(device.request()) +
                                                 "' has admin access, which must not change how a device is shared; "
                                                 "remove its parameter 'sharing'");
  }
  if (!params.given(field::kStrategy))
    throw cage::Error(CAGE_INVALID_ARGUMENT, "sharing has no strategy; write sharing.strategy: TimeSlicing or MPS");
  if (params.text(field::kStrategy) == "MPS") {
    if (is_gpu && params.given(field::kTimeSlicing))
      throw cage::Error(CAGE_INVALID_ARGUMENT,
                        "sharing.timeSlicingConfig is for the strategy TimeSlicing, and sharing.strategy is MPS");
    return {.time_slice = std::nullopt, .mps = mps_settings(params)};
  }
  if (!is_gpu) return {};  // MIG instances have no time slices, and NVIDIA's driver ignores an mpsConfig here
  if (params.given(field::kMps))
    throw cage::Error(CAGE_INVALID_ARGUMENT,
                      "sharing.mpsConfig is for the strategy MPS, and sharing.strategy is TimeSlicing");
  const auto interval = std::ranges::find(kIntervals, params.text(field::kInterval),
                                          [](const cage_str& one) { return std::string_view(one.data, one.size); });
  return {.time_slice = static_cast<unsigned>(interval - std::begin(kIntervals)), .mps = std::nullopt};
}

}  // namespace cardcage::nvidia
