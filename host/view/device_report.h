// What operators see of a device.
#pragma once

#include <memory>
#include <vector>

#include "host/view/daemon_view.h"

namespace cardcage {

// "healthy", "unhealthy" or "unknown", with the module's message.
Condition health_condition(const Health& health);
// Who holds the device of these records: claims, or pods of a resource, with the kubelet's device id as uid.
std::vector<ClaimRef> device_holders(const std::vector<std::shared_ptr<const ClaimRecord>>& records);

}  // namespace cardcage
