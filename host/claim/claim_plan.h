// What preparing a claim will do, checked before anything is touched.
#pragma once

#include <string>

#include "host/claim/device_directory.h"
#include "host/claim/ledger.h"

namespace cardcage {

// The record of an intent: the claim's devices of `driver` at their modules, with parameters and CDI names.
//
// `ref` is what the kubelet named, `claim` what the API server has. kFailedPrecondition when the claim was replaced
// or is not allocated, kNotFound when it has no device of this driver or a device is unknown, kAlreadyExists when a
// device is held by another claim and neither shared nor for administration, kInvalidArgument for its parameters.
Result<ClaimRecord> plan_claim(const std::string& driver, const ClaimRef& ref, const Claim& claim,
                               const DeviceDirectory& devices, const Ledger& ledger, WallTime now);

}  // namespace cardcage
