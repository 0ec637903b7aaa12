// What of a pool may be published: what the API server would refuse is withheld, and what its disabled feature
// gates would drop is left out.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/model/slice.h"

namespace cardcage {

using CounterSets = std::map<std::string, std::map<std::string, Quantity>>;

// The wanted devices of one pool, in the order in which the scheduler is to prefer them. The order must not
// change without need: it is compared.
struct PoolContent {
  std::vector<SliceDevice> devices;
  CounterSets counters;
};
using PoolContentPtr = std::shared_ptr<const PoolContent>;

// Where shared counters go: beside the devices that consume them (Kubernetes 1.34) or in slices of their own
// (1.35 on, where a slice must not hold both; k/k#134189).
enum class CounterPlacement { kSeparate, kCombined };

// Limits of a ResourceSlice (resource.k8s.io/v1 types.go).
inline constexpr std::size_t kMaxSliceDevices = 128;
inline constexpr std::size_t kMaxSpecialSliceDevices = 64;  // if one of them is special
inline constexpr std::size_t kMaxSliceCounterSets = 8;

// True for a device that lowers the limit of its slice: it has taints, counters or list attributes.
bool is_special(const SliceDevice& device);

// Which feature gates the API server has. They are visible only by what comes back from a write.
struct FeatureGates {
  enum class State { kUnknown, kOn, kOff };
  State partitionable = State::kUnknown;  // DRAPartitionableDevices
  bool taints = true;                     // DRADeviceTaints
  bool consumable_capacity = true;        // DRAConsumableCapacity
  bool list_attributes = true;            // DRAListTypeAttributes

  // Learns from what the server made of `sent`; returns the names of the gates that it found to be off just now.
  std::vector<std::string> learn(const Slice& sent, const Slice& stored);
  // The server may have changed: what was off is tried again.
  void forget_off();
  std::vector<std::string> off() const;
  friend bool operator==(const FeatureGates&, const FeatureGates&) = default;
};

struct WithheldDevice {
  std::string name, reason;
  friend bool operator==(const WithheldDevice&, const WithheldDevice&) = default;
};

// Immutable; points into the content that it keeps alive.
//
// Fail safe: a partition without its counters would be allocatable beside the whole device, so devices that consume
// counters are withheld until a slice with counters has come back whole. A device that must not be scheduled is
// withheld where the server knows no taints.
struct PoolView {
  PoolContentPtr content;
  CounterPlacement placement = CounterPlacement::kSeparate;
  std::vector<const SliceDevice*> devices;
  std::vector<const CounterSets::value_type*> counters;
  std::vector<WithheldDevice> withheld;
  std::deque<SliceDevice> reduced;  // copies of devices that lost something; a deque never moves them
};
std::shared_ptr<const PoolView> view_pool(PoolContentPtr content, CounterPlacement placement,
                                          const FeatureGates& gates);

// Why the API server would refuse the device, if it would. `counters` are those of the pool.
std::optional<std::string> flaw_of(const SliceDevice& device, const CounterSets& counters);
bool is_counter_set(const std::string& name, const std::map<std::string, Quantity>& counters);

}  // namespace cardcage
