// Copies a module's statements about a claim's device, and checks them against the rules of
// ResourceClaim.status.devices (KEP-4817) and of conditions (apimachinery, ValidateConditions).
#pragma once

#include <string>
#include <vector>

#include "cardcage/module.h"
#include "host/core/result.h"
#include "host/model/claim_status.h"

namespace cardcage {

constexpr std::size_t kMaxConditions = 8;  // per device

// The copy has no time. Errors name the fault and the remedy.
Result<DeviceCondition> copy_condition(const cage_condition* given);
// The new condition replaces one of its type.
Status replace_condition(std::vector<DeviceCondition>& conditions, DeviceCondition condition);
// A JSON object, written as the host sends it.
Result<std::string> copy_status_data(cage_str json);
// Addresses are written as Kubernetes wants them: "2001:DB8::1/64" becomes "2001:db8::1/64".
Result<NetworkData> copy_network_data(const cage_network_data* given);

}  // namespace cardcage
