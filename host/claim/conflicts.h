// Decides whether the devices of a claim, or of a resource, are free.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "host/ledger/ledger.h"

namespace cardcage {

// Whether two allocations may have the device at the same time: if one has admin access, which only observes, or if
// they consume different shares of its capacity.
bool may_share(const Allocation& a, const Allocation& b);

// A claim that keeps another one from a device.
struct Conflict {
  std::shared_ptr<const ClaimRecord> holder;
};

// Why `claimant` may not have the device of `module`; nothing if the device is free.
std::optional<Conflict> find_conflict(const ClaimKey& claimant, const std::string& module, const HeldDevice& wanted,
                                      const Ledger& ledger);
// For people: "it is prepared for claim team/train (UID 5b2c)".
std::string to_string(const Conflict& conflict);

// kAlreadyExists if one of the plan's devices is not free. Ask again after every wait: the answer holds only until the
// intent is written.
Status check_free(const ClaimRecord& plan, const Ledger& ledger);

}  // namespace cardcage
