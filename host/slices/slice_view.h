// The part of a pool that can be published: devices that the API server would refuse are withheld, and fields that its
// disabled feature gates would drop are left out.
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

// The wanted devices of one pool, in the order that the scheduler should prefer. Another order counts as a change, so
// keep it stable.
struct PoolContent {
  std::vector<SliceDevice> devices;
  CounterSets counters;
  bool no_prepare = false;  // no device needs a call of the driver before a container gets it (KEP-5945)
};
using PoolContentPtr = std::shared_ptr<const PoolContent>;

// The place of shared counters: beside the devices that consume them (Kubernetes 1.34), or in slices of their own
// (since 1.35, where a slice must not hold both; k/k#134189).
enum class CounterPlacement { kSeparate, kCombined };

// Limits of a ResourceSlice (resource.k8s.io/v1 types.go).
inline constexpr std::size_t kMaxSliceDevices = 128;
inline constexpr std::size_t kMaxSpecialSliceDevices = 64;  // if one of them is special
inline constexpr std::size_t kMaxSliceCounterSets = 8;
inline constexpr std::size_t kMaxTaints = 16;  // per device

// Returns true for a device that lowers the limit of its slice: it has taints, counters or list attributes.
bool is_special(const SliceDevice& device);

struct PoolView;

// The API server's feature gates and limits, which are visible only in the responses to writes.
struct FeatureGates {
  enum class State { kUnknown, kOn, kOff };
  State partitionable = State::kUnknown;  // DRAPartitionableDevices
  bool taints = true;                     // DRADeviceTaints
  bool consumable_capacity = true;        // DRAConsumableCapacity
  bool binding_conditions = true;         // DRADeviceBindingConditions
  // These are visible only in a refusal. The first one is not a gate: Kubernetes 1.34 refuses a slice with the effect
  // None or with more than 4 taints of a device.
  bool taints_of_1_35 = true;
  bool list_attributes = true;      // DRAListTypeAttributes
  bool fractional_capacity = true;  // DRAFractionalCapacityRange
  // DRAOptionalNodeOperations of the API server and of this node's kubelet. Without it the kubelet makes every call, so
  // devices do not need the gate.
  bool optional_node_operations = true, kubelet_skips = false;

  // Compares the sent slice with the stored one.
  void learn(const Slice& sent, const Slice& stored);
  // Called after the server refused the pool: suspects the first feature of its devices that is visible only in a
  // refusal. Returns false if none is left.
  bool suspect(const PoolView& view);
  // Clears the suspected features, which were not the reason. Returns false if none was suspected.
  bool absolve();
  // Forgets the disabled features, since the server may have changed.
  void forget_off();
  std::vector<std::string> off() const;
  friend bool operator==(const FeatureGates&, const FeatureGates&) = default;
};

struct WithheldDevice {
  std::string name, reason;
  friend bool operator==(const WithheldDevice&, const WithheldDevice&) = default;
};

// Immutable. Points into `content`, which it keeps alive.
//
// A partition without its counters could be allocated together with the whole device. So devices that consume counters
// are withheld until a response shows that the server keeps counters. A tainted device that must not be scheduled is
// withheld if the server drops taints, and a device that is not ready at once if it drops binding conditions.
struct PoolView {
  PoolContentPtr content;
  CounterPlacement placement = CounterPlacement::kSeparate;
  std::vector<const SliceDevice*> devices;
  std::vector<bool> special;  // is_special() of each device
  std::vector<const CounterSets::value_type*> counters;
  std::vector<std::string> skip_node_operations;
  std::vector<WithheldDevice> withheld;
  std::deque<SliceDevice> reduced;  // copies of devices without dropped fields; a deque keeps their addresses
};
std::shared_ptr<const PoolView> view_pool(PoolContentPtr content, CounterPlacement placement,
                                          const FeatureGates& gates);

// Explains why the API server would refuse the device; nothing if it is valid. `counters` are those of the pool.
std::optional<std::string> flaw_of(const SliceDevice& device, const CounterSets& counters);
bool is_counter_set(const std::string& name, const std::map<std::string, Quantity>& counters);

}  // namespace cardcage
