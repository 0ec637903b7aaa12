// Decides whether the devices of a claim, or of a resource, are free.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/claim/device_directory.h"
#include "host/claim/held_devices.h"
#include "host/ledger/ledger.h"

namespace cardcage {

// True if two allocations may have the device at the same time: if one has admin access, which only observes, or if
// they consume different shares of its capacity.
bool may_share(const Allocation& a, const Allocation& b);

// A claim that keeps another one from a device.
struct Conflict {
  std::shared_ptr<const ClaimRecord> holder;
  std::string partition = {};  // the holder's device, if it is a partition of the wanted one or contains it
  std::string name = {};       // the wanted device's name, if the holder has another device that had it before
  std::string other_id = {};   // the module's id for that device
};

// The claims that have the device now, not one that had its name before.
std::vector<std::shared_ptr<const ClaimRecord>> claims_holding(const std::string& module, const HeldDevice& device,
                                                               const Ledger& ledger);
// The claim, other than `claimant`, that has another device of this boot under the name of the wanted one. No claim may
// have the wanted device then: the health of a claim's device and the nodes of its containers follow the name.
std::optional<Conflict> find_name_conflict(const ClaimKey& claimant, const std::string& module,
                                           const HeldDevice& wanted, const Ledger& ledger);
// The claim, other than `claimant`, that has the device itself, or hardware that rules it out.
std::optional<Conflict> find_user(const ClaimKey& claimant, const HeldDevices& others, const HeldDevice& wanted,
                                  const Ledger& ledger);
// The reason why `claimant` may not have the device of the module of `others`; nothing if the device is free.
std::optional<Conflict> find_conflict(const ClaimKey& claimant, const HeldDevices& others, const HeldDevice& wanted,
                                      const Ledger& ledger);
// For people: "it is prepared for claim team/train (UID 5b2c)".
std::string to_string(const Conflict& conflict);

// kAlreadyExists if one of the plan's devices is not free. Call it again after every wait: the result holds only until
// the intent is written.
Status check_free(const ClaimRecord& plan, const DeviceDirectory& devices, const Ledger& ledger);

}  // namespace cardcage
