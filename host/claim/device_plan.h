// What preparing a device of a device-plugin resource will do, checked before anything is touched.
#pragma once

#include <string>

#include "host/claim/device_directory.h"
#include "host/ledger/ledger.h"

namespace cardcage {

// The record of an intent for one device, `name` in Kubernetes' words, with the holders that it has already. The module
// gets the declared defaults as parameters: a pod that asks for a count of devices has no way to say more.
//
// kNotFound when no module lists the device, kUnavailable when its module is away, kAlreadyExists when it is held
// through another driver or resource, which a changed configuration leads to.
Result<ClaimRecord> plan_device(const std::string& resource, const std::string& name, const DeviceDirectory& devices,
                                const Ledger& ledger, WallTime now);

// Who holds the device other than through `resource`; null if nobody.
std::shared_ptr<const ClaimRecord> held_elsewhere(const std::string& resource, const std::string& module,
                                                  const Device& device, const Ledger& ledger);

}  // namespace cardcage
