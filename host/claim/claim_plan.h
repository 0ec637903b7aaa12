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

// Makes the first record of a claim: the claim's devices of `driver` by module, with parameters and CDI names.
//
// `ref` is the claim as the kubelet named it, `claim` as the API server has it. kFailedPrecondition if the claim was
// replaced or is not allocated, kNotFound if it has no device of this driver or a device is unknown, kInvalidArgument
// for bad parameters. Does not check whether the devices are free.
Result<ClaimRecord> plan_claim(const std::string& driver, const ClaimRef& ref, const Claim& claim,
                               const DeviceDirectory& devices, const Ledger& ledger, WallTime now);

// True if both have the same devices and shares of them. An empty pool, of a claim rebuilt from its CDI file, matches
// any pool.
bool same_devices(const std::vector<Allocation>& a, const std::vector<Allocation>& b);
std::vector<Allocation> allocations_of(const ClaimRecord& record);
// The claim's allocations of one driver.
std::vector<Allocation> allocations_for(const Claim& claim, const std::string& driver);

// Makes the plan of a claim that the kubelet named. The arguments live until the task ends.
struct ClaimPlanner {
  // Makes the plan, and keeps `waits_for` up to date with the thing it waits for.
  std::function<Task<Result<ClaimRecord>>(const ClaimRef& ref, std::string& waits_for, Instant deadline)> plan;
  // True if the claim still is the one that was prepared, or if that cannot be found out. Null if it cannot change.
  std::function<Task<bool>(const ClaimRef& ref, const ClaimRecord& prepared, Instant deadline)> is_current = {};
};

// Plans the claims of a DRA driver from the API server, once the driver's modules have started. All arguments outlive
// it.
ClaimPlanner plan_from_cluster(std::string driver, ClaimReader& claims, const DeviceDirectory& devices,
                               const Ledger& ledger, Clock& clock);

}  // namespace cardcage
