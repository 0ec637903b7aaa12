#include "host/access/stuck_devices.h"

#include <algorithm>

#include "host/core/log.h"
#include "host/core/timestamp.h"
#include "host/core/utf8.h"

namespace cardcage {

void StuckDevices::add(std::shared_ptr<RunningAccess> access) {
  log(LogLevel::kError, "device is stuck",
      {{"module", access->device.module},
       {"device", access->device.id},
       {"in", access->what},
       {"process", fmt::format("pid {} {}", access->process->pid(), hold_of(access->process->pid()))}});
  const std::string module = access->device.module;
  stuck_.emplace(access->device, std::move(access));
  if (changed_) changed_(module);
}

void StuckDevices::remove(const std::shared_ptr<RunningAccess>& access) {
  if (std::erase_if(stuck_, [&](const auto& entry) { return entry.second == access; }) == 0) return;
  log(LogLevel::kInfo, "device is not stuck any more",
      {{"module", access->device.module}, {"device", access->device.id}, {"in", access->what}});
  if (changed_) changed_(access->device.module);
}

std::string StuckDevices::text_of(const RunningAccess& access) {
  return fmt::format(
      "device '{}' is stuck in {} since {}: nothing can end that but the hardware or a restart of the node",
      access.device.id, access.what, timestamp(access.since));
}

const RunningAccess* StuckDevices::oldest(const DeviceKey& device) const {
  const auto first = stuck_.lower_bound(device);
  return first == stuck_.end() || first->first != device ? nullptr : first->second.get();
}

std::optional<std::string> StuckDevices::find(const DeviceKey& device) const {
  const RunningAccess* const access = oldest(device);
  return access ? std::optional(text_of(*access)) : std::nullopt;
}

std::optional<CauseHealth> StuckDevices::health(const DeviceKey& device) const {
  const RunningAccess* const access = oldest(device);
  if (!access) return std::nullopt;
  return CauseHealth{.health = {.state = HealthState::kUnhealthy,
                                .reason = "Stuck",
                                .message = cut_utf8(text_of(*access), kMaxHealthMessage),
                                .taint = TaintEffect::kNoSchedule,
                                .cause = "Stuck"},
                     .changed = access->since};
}

std::vector<std::string> StuckDevices::all(const std::string& module) const {
  std::vector<std::string> texts;
  for (const auto& [device, access] : stuck_)
    if (module.empty() || device.module == module) texts.push_back(text_of(*access));
  return texts;
}

std::size_t StuckDevices::count(const std::string& module) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(stuck_, [&](const auto& entry) { return entry.first.module == module; }));
}

}  // namespace cardcage
