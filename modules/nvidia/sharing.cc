#include "modules/nvidia/sharing.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "modules/nvidia/mebibyte.h"

namespace cardcage::nvidia {
namespace {

constexpr std::pair<std::string_view, double> kUnits[] = {{"", 1},
                                                          {"k", 1e3},
                                                          {"M", 1e6},
                                                          {"G", 1e9},
                                                          {"T", 1e12},
                                                          {"Ki", 1024},
                                                          {"Mi", 1024 * 1024},
                                                          {"Gi", 1024.0 * kMib},
                                                          {"Ti", 1024.0 * 1024.0 * kMib}};

// "1536Mi" or "1.5Gi", a quantity of Kubernetes, in whole mebibytes. MPS takes no smaller amounts.
unsigned long long mebibytes(std::string_view field, std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const auto known = std::ranges::find(kUnits, unit, &std::pair<std::string_view, double>::first);
  if (error != std::errc() || known == std::end(kUnits))
    throw cage::Error(CAGE_INVALID_ARGUMENT, std::string(field) + ": '" + std::string(text) +
                                                 "' is not an amount of memory; write one like 4Gi");
  const double amount = std::floor(number * known->second / kMib);
  constexpr double kMost = 1 << 30;
  if (!(amount >= 1 && amount <= kMost))  // or it is no number
    throw cage::Error(CAGE_INVALID_ARGUMENT,
                      std::string(field) + ": '" + std::string(text) + "' is out of bounds; write 1Mi to 1024Ti");
  return static_cast<unsigned long long>(amount);
}

bool any_given(const cage::Values& params, std::initializer_list<const char*> fields) {
  return std::ranges::any_of(fields, [&](const char* field) { return params.given(field); });
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
  const bool wants_interval = is_gpu && params.given(field::kInterval);
  if (params.text(field::kStrategy) == "MPS") {
    if (wants_interval)
      throw cage::Error(CAGE_INVALID_ARGUMENT,
                        "sharing.timeSlicingConfig is for the strategy TimeSlicing, and sharing.strategy is MPS");
    return {.time_slice = std::nullopt, .mps = mps_settings(params)};
  }
  if (any_given(params, {field::kThreads, field::kMemory, field::kMemories, field::kMultiUser}))
    throw cage::Error(CAGE_INVALID_ARGUMENT,
                      "sharing.mpsConfig is for the strategy MPS, and sharing.strategy is TimeSlicing");
  if (!is_gpu || (!params.given(field::kStrategy) && !wants_interval)) return {};
  const auto interval = std::ranges::find(kIntervals, params.text(field::kInterval),
                                          [](const cage_str& one) { return std::string_view(one.data, one.size); });
  return {.time_slice = static_cast<unsigned>(interval - std::begin(kIntervals)), .mps = std::nullopt};
}

}  // namespace cardcage::nvidia
