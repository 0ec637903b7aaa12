// The state of a device, for operators.
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
// Combines the word and the message.
Condition health_condition(const Health& health);
// Returns the holders of the device in these records: claims, or pods of a resource, with the kubelet's device id as
// uid.
std::vector<ClaimRef> device_holders(const std::vector<std::shared_ptr<const ClaimRecord>>& records);
// Returns the only user of the device in these records, if there is exactly one. For a claim that several containers
// use, the result names their pod if they share one, and nothing else.
std::optional<DeviceUser> device_user(const std::vector<std::shared_ptr<const ClaimRecord>>& records,
                                      const ClaimUsers& users);

}  // namespace cardcage
