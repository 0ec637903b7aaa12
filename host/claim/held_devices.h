// The held devices of one module, and the devices that cannot be held beside them: a whole device and its partitions,
// and devices that together take more of a counter than there is.
//
// The scheduler knows the counters of one pool only, and the kubelet knows neither counters nor partitions.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/ledger/ledger.h"
#include "host/model/device.h"

namespace cardcage {

// Valid for one turn of the core: the ledger outlives the object and does not change meanwhile. The ledger is read as a
// whole, but only on the first question about a device that others can rule out.
class HeldDevices {
 public:
  // A device that rules another one out, and the claim that has it.
  struct Held {
    const Device* device;  // in the snapshot
    std::shared_ptr<const ClaimRecord> holder;
  };

  // The devices of `module`, which listed `snapshot` last, as the ledger has them. A null snapshot has no device.
  HeldDevices(std::string module, SnapshotPtr snapshot, const Ledger& ledger);

  const std::string& module() const { return module_; }
  // True if other devices of the list can rule this one out.
  bool is_partitioned(std::string_view device_id) const;
  // True if one of the two is a partition of the other.
  bool overlap(std::string_view device_id, std::string_view other_id) const;
  // The devices that this one is a partition of, and its own partitions.
  std::vector<const Device*> overlapping(std::string_view device_id) const;
  // The device that rules this one out, other than one of `claimant`. Does not tell whether the device itself is held.
  std::optional<Held> ruled_out_by(std::string_view device_id, const ClaimKey& claimant) const;

 private:
  bool overlap(const Device& one, const Device& other) const {
    return is_part_of(one, other) || is_part_of(other, one);
  }
  bool is_part_of(const Device& part, const Device& whole) const;
  std::optional<Held> overdrawn(const Device& wanted, const ClaimKey& claimant) const;
  const std::vector<Held>& held() const;

  const std::string module_;
  const SnapshotPtr snapshot_;
  const Ledger& ledger_;
  std::set<std::string_view> wholes_;  // ids of devices that have partitions
  mutable std::optional<std::vector<Held>> held_;
};

}  // namespace cardcage
