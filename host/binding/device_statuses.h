// Entries of status.devices for a claim that a pod waits for; the scheduler reads them (KEP-5007).
#pragma once

#include <string>
#include <vector>

#include "host/ledger/record.h"
#include "host/model/claim_status.h"
#include "host/model/module_claim.h"

namespace cardcage {

// An entry for each device of the part that has binding conditions, with the conditions that its module states.
std::vector<DeviceStatus> stated_statuses(const ModulePart& part, const BindProgress& progress);
// An entry for each such device, whose conditions are unknown because of the error.
std::vector<DeviceStatus> unknown_statuses(const std::vector<Allocation>& allocations, const std::string& driver,
                                           const Error& error);

// Sets the time since which each condition has had its value.
void set_times(std::vector<DeviceStatus>& stated, const std::vector<DeviceStatus>& before, WallTime now);

enum class BindOutcome { kWaiting, kReady, kFailed };
// Tells whether the scheduler still waits for the devices of `driver`: until all conditions are true, or one failure
// is.
BindOutcome outcome_of(const std::vector<Allocation>& allocations, const std::string& driver,
                       const std::vector<DeviceStatus>& stated);

}  // namespace cardcage
