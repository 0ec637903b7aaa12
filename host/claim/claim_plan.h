// Plans the preparation of a claim and checks it before anything is touched.
#pragma once

#include <functional>
#include <string>

#include "host/claim/device_directory.h"
#include "host/core/clock.h"
#include "host/ledger/ledger.h"
#include "host/model/cluster.h"

namespace cardcage {

// The record to begin with: the claim's devices of `driver` by module, with parameters and CDI names.
//
// `ref` is what the kubelet named, `claim` what the API server has. kFailedPrecondition if the claim was replaced or is
// not allocated, kNotFound if it has no device of this driver or a device is unknown, kAlreadyExists if another claim
// holds a device that is neither shared nor for administration, kInvalidArgument for bad parameters.
Result<ClaimRecord> plan_claim(const std::string& driver, const ClaimRef& ref, const Claim& claim,
                               const DeviceDirectory& devices, const Ledger& ledger, WallTime now);

// Makes the plan of a claim that the kubelet named, and keeps `waits_for` up to date with what it waits for. The
// arguments live until the task ends.
using ClaimPlanner =
    std::function<Task<Result<ClaimRecord>>(const ClaimRef& ref, std::string& waits_for, Instant deadline)>;

// Plans the claims of a DRA driver from the API server, once the driver's modules have started. All arguments outlive
// it.
ClaimPlanner plan_from_cluster(std::string driver, Cluster& cluster, const DeviceDirectory& devices,
                               const Ledger& ledger, Clock& clock);

}  // namespace cardcage
