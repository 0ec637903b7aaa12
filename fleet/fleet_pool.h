// A pool of devices: its slices, the holders of its devices, and the resulting states.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "fleet/fleet_claim.h"

namespace cardcage {

// [core] The slices of the newest generation count once all of them are there. Until then the pool shows its former
// devices, as the scheduler keeps using them.
class FleetPool {
 public:
  struct Device {
    std::shared_ptr<const FleetSlice> slice;
    std::uint32_t index = 0;  // in the slice
    DeviceState state = DeviceState::kFree;
    bool held = false;

    const FleetDevice& about() const { return slice->devices[index]; }
  };
  // A taint of a device, and the rule that it comes from, unless it comes from the slice.
  struct Taint {
    const FleetTaint* taint = nullptr;
    const FleetTaintRule* rule = nullptr;
  };
  struct Holder {
    const FleetClaim* claim = nullptr;
    bool admin = false;
  };
  using Rules = std::map<std::string, FleetTaintRule, std::less<>>;

  FleetPool(Name driver, Name name) : driver_(std::move(driver)), name_(std::move(name)) {}

  const Name& driver() const { return driver_; }
  const Name& name() const { return name_; }
  // By node, and in natural order of their names on each.
  std::span<const Device> devices() const { return devices_; }
  bool incomplete() const { return incomplete_; }
  // True if it has neither slices nor holders, so that it can go.
  bool unused() const { return slices_.empty() && holders_.empty(); }

  // Each returns true if the list of devices changed. Call update_states() after a group of calls.
  bool put(std::shared_ptr<const FleetSlice> slice);
  bool remove(const Name& slice);
  void hold(const Name& device, const FleetClaim& claim, bool admin);
  void release(const FleetClaim& claim);
  void update_states(const Rules& rules);

  // In the order of the slice, then of the rules' names.
  std::vector<Taint> taints(const Device& device) const;
  std::vector<Holder> holders(const Device& device) const;

 private:
  struct Hold {
    Name device;
    Holder holder;
  };

  bool show_newest_generation();
  std::span<const Hold> holds_of(const Name& device) const;

  const Name driver_, name_;
  std::vector<std::shared_ptr<const FleetSlice>> slices_;  // as the API server has them
  std::vector<Device> devices_;
  std::vector<Hold> holders_;                 // by address of the device's name
  std::vector<const FleetTaintRule*> rules_;  // that may taint a device of the pool
  bool incomplete_ = false;
};

}  // namespace cardcage
