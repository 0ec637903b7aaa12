// What operators see of a device.
#pragma once

#include <memory>
#include <vector>

#include "host/pods/pod_listing.h"
#include "host/view/daemon_view.h"

namespace cardcage {

// "healthy", "degraded", "unmonitored", "unknown" or "unhealthy"
std::string_view health_word(HealthState state);
// "none", "Inform", "NoSchedule" or "NoExecute"
std::string_view taint_word(TaintEffect effect);
// The word with the message.
Condition health_condition(const Health& health);
// Who holds the device of these records: claims, or pods of a resource, with the kubelet's device id as uid.
std::vector<ClaimRef> device_holders(const std::vector<std::shared_ptr<const ClaimRecord>>& records);
// The one user of the device of these records, if there is one. A claim that several containers use names their pod if
// it is one, and nothing else.
std::optional<DeviceUser> device_user(const std::vector<std::shared_ptr<const ClaimRecord>>& records,
                                      const ClaimUsers& users);

}  // namespace cardcage
