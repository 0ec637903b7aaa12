#include "host/model/claim_status.h"

#include <algorithm>

namespace cardcage {

void set_times(std::vector<DeviceCondition>& stated, const std::vector<DeviceCondition>& before, WallTime now) {
  for (DeviceCondition& condition : stated) {
    const auto known = std::ranges::find(before, condition.type, &DeviceCondition::type);
    condition.since = known != before.end() && known->status == condition.status ? known->since : now;
  }
}

}  // namespace cardcage
