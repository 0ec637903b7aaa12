#include "host/view/device_report.h"

namespace cardcage {

Condition health_condition(const Health& health) {
  switch (health.state) {
    case HealthState::kHealthy: return {Level::kGood, "healthy", health.message};
    case HealthState::kUnhealthy: return {Level::kBad, "unhealthy", health.message};
    case HealthState::kUnknown: break;
  }
  return {Level::kInProgress, "unknown", health.message};
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

}  // namespace cardcage
