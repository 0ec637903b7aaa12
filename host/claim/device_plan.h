// Plans the preparation of a device of a device-plugin resource and checks it before anything is touched.
#pragma once

#include <string>

#include "host/claim/device_directory.h"
#include "host/ledger/ledger.h"

namespace cardcage {

// The record to begin with for the device `name` in Kubernetes, with the holders that it has already. The module gets
// the declared defaults as parameters, because a pod that asks for a count of devices cannot say more.
//
// kNotFound if no module lists the device, kUnavailable if its module does not run, kAlreadyExists if it is held
// through another driver or resource, which happens after a change of the configuration.
Result<ClaimRecord> plan_device(const std::string& resource, const std::string& name, const DeviceDirectory& devices,
                                const Ledger& ledger, WallTime now);

// The claim that holds the device through another driver or resource; null if there is none.
std::shared_ptr<const ClaimRecord> held_elsewhere(const std::string& resource, const std::string& module,
                                                  const Device& device, const Ledger& ledger);

}  // namespace cardcage
