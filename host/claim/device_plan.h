// Plans the preparation of a device of a device-plugin resource.
#pragma once

#include <string>

#include "host/claim/device_directory.h"
#include "host/ledger/ledger.h"

namespace cardcage {

// Makes the first record with the UID `uid` for the device that the module calls `device_id`, with the holders that it
// has already. The module gets the declared defaults as parameters, because a pod that requests a number of devices
// cannot say more.
//
// kNotFound if no module lists the device, kUnavailable if its module does not run.
Result<ClaimRecord> plan_device(const std::string& resource, const std::string& uid, const std::string& device_id,
                                const DeviceDirectory& devices, const Ledger& ledger, WallTime now);

}  // namespace cardcage
