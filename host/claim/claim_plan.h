// Plans the preparation of a claim and checks it before anything is touched.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/claim/claim_reader.h"
#include "host/claim/device_directory.h"
#include "host/core/clock.h"
#include "host/ledger/ledger.h"

namespace cardcage {

// The record to begin with: the claim's devices of `driver` by module, with parameters and CDI names.
//
// `ref` is what the kubelet named, `claim` what the API server has. kFailedPrecondition if the claim was replaced or is
// not allocated, kNotFound if it has no device of this driver or a device is unknown, kInvalidArgument for bad
// parameters. Whether the devices are free is not checked.
Result<ClaimRecord> plan_claim(const std::string& driver, const ClaimRef& ref, const Claim& claim,
                               const DeviceDirectory& devices, const Ledger& ledger, WallTime now);

// Whether both have the same devices and shares of them. An empty pool, of a claim rebuilt from its CDI file, stands
// for any.
bool same_devices(const std::vector<Allocation>& a, const std::vector<Allocation>& b);
std::vector<Allocation> allocations_of(const ClaimRecord& record);
// Those of one driver.
std::vector<Allocation> allocations_for(const Claim& claim, const std::string& driver);

// Says what a claim that the kubelet named consists of. The arguments live until the task ends.
struct ClaimPlanner {
  // Makes the plan, and keeps `waits_for` up to date with what it waits for.
  std::function<Task<Result<ClaimRecord>>(const ClaimRef& ref, std::string& waits_for, Instant deadline)> plan;
  // Whether the claim is still what was prepared; true if nobody can say. Null if it cannot change.
  std::function<Task<bool>(const ClaimRef& ref, const ClaimRecord& prepared, Instant deadline)> is_current = {};
};

// Plans the claims of a DRA driver from the API server, once the driver's modules have started. All arguments outlive
// it.
ClaimPlanner plan_from_cluster(std::string driver, ClaimReader& claims, const DeviceDirectory& devices,
                               const Ledger& ledger, Clock& clock);

}  // namespace cardcage
