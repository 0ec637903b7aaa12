// Writes the statuses that a driver states for a claim's devices as JSON. v1, v1beta2 and v1beta1 differ in apiVersion
// only.
#pragma once

#include <vector>

#include "host/apiserver/json_view.h"
#include "host/apiserver/slice_json.h"
#include "host/model/claim.h"
#include "host/model/claim_status.h"

namespace cardcage {

// Fails with kInvalidArgument unless the names and UID of the claim are valid and every entry belongs to `driver`.
Status check_claim_status(const ClaimRef& claim, const std::string& driver, const std::vector<DeviceStatus>& devices);

// The entries of status.devices.
Result<json::array> claim_status_to_json(const std::vector<DeviceStatus>& devices);

// The object to apply. Without a device it owns nothing, which removes the fields that its manager applied before. The
// UID makes the server refuse it for another claim of the same name.
json::object claim_status_patch(const ClaimRef& claim, json::array devices, ResourceApi version);

// Tells whether `stored`, a list of entries, has one for each of `devices`. A server whose feature gate
// DRAResourceClaimDeviceStatus is off drops them silently.
bool has_entries(const json::array& stored, const std::vector<DeviceStatus>& devices);

}  // namespace cardcage
