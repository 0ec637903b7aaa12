#include "host/slices/slice_device.h"

#include <algorithm>

#include "host/model/naming.h"
#include "host/slices/slice_view.h"

namespace cardcage {
namespace {

std::string_view word(TaintEffect effect) {
  switch (effect) {
    case TaintEffect::kNoExecute: return "NoExecute";
    case TaintEffect::kNoSchedule: return "NoSchedule";
    case TaintEffect::kInform:
    case TaintEffect::kNone: break;
  }
  return "None";
}

DeviceTaint taint_of(const Health& health, const std::string& driver) {
  const std::string& value = health.taint_value.empty() ? health.reason : health.taint_value;
  return {.key = health.taint_key.empty() ? driver + "/unhealthy" : health.taint_key,
          .value = is_label_value(value) ? value : "",
          .effect = std::string(word(health.taint)),
          .time_added = ""};
}

std::vector<DeviceTaint> taints_of(std::vector<CauseHealth> causes, const std::string& driver) {
  const auto effect = [](const CauseHealth& cause) { return severity(advised_taint(cause.health)); };
  std::ranges::stable_sort(causes, std::ranges::greater(), effect);  // the strongest survive the limits
  std::vector<DeviceTaint> taints;
  for (const CauseHealth& cause : causes) {
    if (taints.size() == kMaxTaints || effect(cause) == 0) break;
    DeviceTaint taint = taint_of(cause.health, driver);
    const auto same = [&](const DeviceTaint& other) { return other.key == taint.key && other.effect == taint.effect; };
    if (std::ranges::none_of(taints, same)) taints.push_back(std::move(taint));
  }
  return taints;
}

}  // namespace

SliceDevice slice_device(const Device& device, const std::vector<CauseHealth>& causes, const std::string& driver) {
  SliceDevice published{device, device.name, {}};
  if (strongest_taint(causes) != TaintEffect::kNone) published.taints = taints_of(causes, driver);
  return published;
}

}  // namespace cardcage
