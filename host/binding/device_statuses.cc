#include "host/binding/device_statuses.h"

#include <algorithm>

namespace cardcage {
namespace {

constexpr std::size_t kMaxMessage = 1024;

DeviceStatus status_of(const Allocation& allocation, std::vector<DeviceCondition> conditions) {
  return {.driver = allocation.driver,
          .pool = allocation.pool,
          .device = allocation.device,
          .share_id = allocation.share_id,
          .conditions = std::move(conditions),
          .data = {},
          .network = {}};
}

bool is_about(const DeviceStatus& status, const Allocation& allocation) {
  return status.driver == allocation.driver && status.pool == allocation.pool && status.device == allocation.device &&
         status.share_id == allocation.share_id;
}

bool is_true(const DeviceStatus* status, const std::string& type) {
  return status != nullptr && std::ranges::any_of(status->conditions, [&](const DeviceCondition& condition) {
           return condition.type == type && condition.status == DeviceCondition::Status::kTrue;
         });
}

}  // namespace

std::vector<DeviceStatus> stated_statuses(const ModulePart& part, const BindProgress& progress) {
  std::vector<DeviceStatus> statuses;
  for (std::size_t i = 0; i < part.devices.size() && i < progress.size(); ++i)
    if (const Allocation& allocation = part.devices[i].allocation; !allocation.binding.empty())
      statuses.push_back(status_of(allocation, progress[i]));
  return statuses;
}

std::vector<DeviceStatus> unknown_statuses(const std::vector<Allocation>& allocations, const std::string& driver,
                                           const Error& error) {
  std::vector<DeviceStatus> statuses;
  for (const Allocation& allocation : allocations) {
    if (allocation.driver != driver || allocation.binding.empty()) continue;
    std::vector<DeviceCondition> conditions;
    for (const std::string& type : allocation.binding.conditions)
      conditions.push_back(
          {type, DeviceCondition::Status::kUnknown, "BindFailed", error.message.substr(0, kMaxMessage), {}});
    statuses.push_back(status_of(allocation, std::move(conditions)));
  }
  return statuses;
}

void set_times(std::vector<DeviceStatus>& stated, const std::vector<DeviceStatus>& before, WallTime now) {
  for (DeviceStatus& status : stated) {
    const auto same = std::ranges::find_if(before, [&](const DeviceStatus& other) {
      return other.pool == status.pool && other.device == status.device && other.share_id == status.share_id;
    });
    set_times(status.conditions, same == before.end() ? std::vector<DeviceCondition>() : same->conditions, now);
  }
}

BindOutcome outcome_of(const std::vector<Allocation>& allocations, const std::string& driver,
                       const std::vector<DeviceStatus>& stated) {
  BindOutcome outcome = BindOutcome::kReady;
  for (const Allocation& allocation : allocations) {
    if (allocation.driver != driver) continue;
    const auto found =
        std::ranges::find_if(stated, [&](const DeviceStatus& status) { return is_about(status, allocation); });
    const DeviceStatus* const status = found == stated.end() ? nullptr : &*found;
    const auto holds = [&](const std::string& type) { return is_true(status, type); };
    if (std::ranges::any_of(allocation.binding.failures, holds)) return BindOutcome::kFailed;
    if (!std::ranges::all_of(allocation.binding.conditions, holds)) outcome = BindOutcome::kWaiting;
  }
  return outcome;
}

}  // namespace cardcage
