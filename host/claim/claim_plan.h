// What preparing a claim will do, checked before anything is touched.
#pragma once

#include <functional>
#include <string>

#include "host/claim/device_directory.h"
#include "host/core/clock.h"
#include "host/ledger/ledger.h"
#include "host/model/cluster.h"

namespace cardcage {

// The record of an intent: the claim's devices of `driver` at their modules, with parameters and CDI names.
//
// `ref` is what the kubelet named, `claim` what the API server has. kFailedPrecondition when the claim was replaced
// or is not allocated, kNotFound when it has no device of this driver or a device is unknown, kAlreadyExists when a
// device is held by another claim and neither shared nor for administration, kInvalidArgument for its parameters.
Result<ClaimRecord> plan_claim(const std::string& driver, const ClaimRef& ref, const Claim& claim,
                               const DeviceDirectory& devices, const Ledger& ledger, WallTime now);

// Makes the record of an intent for what the kubelet named; says in `waits_for` what takes long. The arguments live
// until the task ends.
using ClaimPlanner =
    std::function<Task<Result<ClaimRecord>>(const ClaimRef& ref, std::string& waits_for, Instant deadline)>;

// Plans the claims of a DRA driver as the API server has them, when the driver's modules have started. What it is given
// outlives it.
ClaimPlanner plan_from_cluster(std::string driver, Cluster& cluster, const DeviceDirectory& devices,
                               const Ledger& ledger, Clock& clock);

}  // namespace cardcage
