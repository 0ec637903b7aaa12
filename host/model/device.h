// Devices as modules report them, and the full list of an instance.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "host/core/shared_map.h"
#include "host/model/binding.h"
#include "host/model/health.h"
#include "host/model/request_policy.h"

namespace cardcage {

// Strict semver 2.0.0, at most 64 bytes.
struct SemVer {
  std::string text;
  friend bool operator==(const SemVer&, const SemVer&) = default;
};

// A ResourceSlice device attribute; the lists need the alpha gate DRAListTypeAttributes.
using AttributeValue = std::variant<std::int64_t, bool, std::string, SemVer, std::vector<std::int64_t>,
                                    std::vector<bool>, std::vector<std::string>, std::vector<SemVer>>;

// By name. A snapshot, the served devices and the slices share it unless sysfs adds attributes.
using Attributes = SharedMap<std::string, AttributeValue>;

// One entry of a device's consumesCounters (KEP-4815).
struct CounterUse {
  std::string set;
  std::map<std::string, Quantity> counters;
  friend bool operator==(const CounterUse&, const CounterUse&) = default;
};

// The part of a device that a ResourceSlice publishes as the module reports it.
struct DeviceTraits {
  Attributes attributes;  // a name without a domain is in the driver's domain
  std::map<std::string, Quantity> capacity;
  RequestPolicies policies;  // for shared devices only
  std::vector<CounterUse> consumes;
  Binding binding;      // empty = ready at once
  bool shared = false;  // several claims may hold it at once

  friend bool operator==(const DeviceTraits&, const DeviceTraits&) = default;
};

// Visits each trait, or the same trait of several devices, by its name in a ResourceSlice. A requestPolicy belongs in
// the capacity of the same name, which comes first.
template <class Visitor, std::derived_from<DeviceTraits>... Traits>
  requires(sizeof...(Traits) > 0)
void describe(Visitor&& visit, Traits&... traits) {
  visit("attributes", traits.attributes...);
  visit("capacity", traits.capacity...);
  visit("requestPolicy", traits.policies...);
  visit("consumesCounters", traits.consumes...);
  visit("bindsToNode", traits.binding.to_node...);
  visit("bindingConditions", traits.binding.conditions...);
  visit("bindingFailureConditions", traits.binding.failures...);
  visit("allowMultipleAllocations", traits.shared...);
}

struct Device : DeviceTraits {
  std::string id;    // chosen by the module: stable over reboots, unique in the instance
  std::string name;  // for Kubernetes: a DNS label derived from id, unique in the instance
  std::string kind;
  std::string parent_id;
  std::string pci_bus_id;  // "0000:3b:00.0" in lower case, or empty
  std::vector<std::int32_t> numa_nodes;
  Health health;  // the default = no statement

  friend bool operator==(const Device&, const Device&) = default;
};

constexpr std::size_t kMaxLeftOut = 16;
constexpr std::size_t kMaxNotOffered = 256;
constexpr std::size_t kMaxNotOfferedName = 63, kMaxNotOfferedReason = 1024;

// The full, immutable device list of an instance, sorted by id.
struct Snapshot {
  std::vector<Device> devices;
  std::map<std::string, std::map<std::string, Quantity>> counter_sets;
  // Reasons why the host refuses devices of the module, by the module's own names; at most kMaxLeftOut.
  std::map<std::string, std::string> left_out;
  // Reasons why the module does not offer hardware that it found, by the name that people use.
  std::map<std::string, std::string> not_offered;

  const Device* find(std::string_view id) const;
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

}  // namespace cardcage
