#include "host/view/device_report.h"

#include <algorithm>

namespace cardcage {

std::string_view health_word(HealthState state) {
  switch (state) {
    case HealthState::kHealthy: return "healthy";
    case HealthState::kDegraded: return "degraded";
    case HealthState::kUnmonitored: return "unmonitored";
    case HealthState::kUnhealthy: return "unhealthy";
    case HealthState::kUnknown: break;
  }
  return "unknown";
}

Condition health_condition(const Health& health) {
  const auto level = [&] {
    switch (health.state) {
      case HealthState::kHealthy:
      case HealthState::kUnmonitored: return Level::kGood;
      case HealthState::kUnhealthy: return Level::kBad;
      case HealthState::kDegraded:
      case HealthState::kUnknown: break;
    }
    return Level::kInProgress;
  };
  return {level(), std::string(health_word(health.state)), health.message};
}

std::string_view taint_word(TaintEffect effect) {
  switch (effect) {
    case TaintEffect::kNone: break;
    case TaintEffect::kNoSchedule: return "NoSchedule";
    case TaintEffect::kNoExecute: return "NoExecute";
    case TaintEffect::kInform: return "Inform";
  }
  return "none";
}

std::vector<ClaimRef> device_holders(const std::vector<std::shared_ptr<const ClaimRecord>>& records) {
  std::vector<ClaimRef> holders;
  for (const auto& record : records) {
    if (record->served().is_resource())
      for (const Holder& holder : holders_of(*record)) holders.push_back({holder.name_space, holder.pod, holder.id});
    else
      holders.push_back(record->ref);
  }
  return holders;
}

std::optional<DeviceUser> device_user(const std::vector<std::shared_ptr<const ClaimRecord>>& records,
                                      const ClaimUsers& users) {
  if (records.size() != 1) return std::nullopt;
  const ClaimRecord& record = *records.front();
  if (record.served().is_resource()) {
    const std::vector<Holder>& holders = holders_of(record);
    if (holders.size() != 1) return std::nullopt;
    return DeviceUser{holders[0].name_space, holders[0].pod, holders[0].container, ""};
  }
  DeviceUser user{record.ref.name_space, "", "", record.ref.name};
  const auto found = users.find({record.ref.name_space, record.ref.name});
  if (found == users.end() || found->second.empty()) return user;
  const std::vector<PodContainer>& containers = found->second;
  const auto same_pod = [&](const PodContainer& other) { return other.pod == containers[0].pod; };
  if (std::ranges::all_of(containers, same_pod)) user.pod = containers[0].pod;
  if (containers.size() == 1) user.container = containers[0].container;
  return user;
}

}  // namespace cardcage
