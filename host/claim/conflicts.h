// Decides whether the devices of a claim, or of a resource, are free.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "host/claim/device_directory.h"
#include "host/claim/held_devices.h"
#include "host/ledger/ledger.h"

namespace cardcage {

// Whether two allocations may have the device at the same time: if one has admin access, which only observes, or if
// they consume different shares of its capacity.
bool may_share(const Allocation& a, const Allocation& b);

// A claim that keeps another one from a device.
struct Conflict {
  std::shared_ptr<const ClaimRecord> holder;
  std::string partition;  // what it holds, if that is a partition of the wanted device, or the other way round
};

// Why `claimant` may not have the device of the module of `others`; nothing if the device is free.
std::optional<Conflict> find_conflict(const ClaimKey& claimant, const HeldDevices& others, const HeldDevice& wanted,
                                      const Ledger& ledger);
// For people: "it is prepared for claim team/train (UID 5b2c)".
std::string to_string(const Conflict& conflict);

// kAlreadyExists if one of the plan's devices is not free. Ask again after every wait: the answer holds only until the
// intent is written.
Status check_free(const ClaimRecord& plan, const DeviceDirectory& devices, const Ledger& ledger);

}  // namespace cardcage
