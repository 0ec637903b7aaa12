// Devices as modules report them, and the full list of an instance.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "host/model/quantity.h"

namespace cardcage {

// Strict semver 2.0.0, at most 64 bytes.
struct SemVer {
  std::string text;
  friend bool operator==(const SemVer&, const SemVer&) = default;
};

// A ResourceSlice device attribute; the lists need the alpha gate DRAListTypeAttributes.
using AttributeValue = std::variant<std::int64_t, bool, std::string, SemVer, std::vector<std::int64_t>,
                                    std::vector<bool>, std::vector<std::string>, std::vector<SemVer>>;

// The numbers are those of DRAResourceHealth.
enum class HealthState : std::uint8_t { kUnknown = 0, kHealthy = 1, kUnhealthy = 2 };
enum class TaintEffect : std::uint8_t { kNone = 0, kNoSchedule = 1, kNoExecute = 2 };

struct Health {
  HealthState state = HealthState::kUnknown;
  std::string reason;                      // CamelCase token
  std::string message;                     // UTF-8, at most 1024 bytes
  std::chrono::seconds timeout{0};         // the state is unknown after this silence; 0 = never
  TaintEffect taint = TaintEffect::kNone;  // as the module advises

  friend bool operator==(const Health&, const Health&) = default;
};

// A healthy device has no taint, whatever its module advised.
constexpr TaintEffect advised_taint(const Health& health) {
  return health.state == HealthState::kHealthy ? TaintEffect::kNone : health.taint;
}

// One entry of a device's consumesCounters (KEP-4815).
struct CounterUse {
  std::string set;
  std::map<std::string, Quantity> counters;
  friend bool operator==(const CounterUse&, const CounterUse&) = default;
};

struct Device {
  std::string id;    // chosen by the module: stable over reboots, unique in the instance
  std::string name;  // for Kubernetes: a DNS label derived from id, unique in the instance
  std::string kind;
  std::string parent_id;
  std::string pci_bus_id;  // "0000:3b:00.0" in lower case, or empty
  bool shared = false;     // several claims may hold it at once
  std::vector<std::int32_t> numa_nodes;
  std::map<std::string, AttributeValue> attributes;  // a name without a domain is in the driver's domain
  std::map<std::string, Quantity> capacity;
  std::vector<CounterUse> consumes;
  Health health;

  friend bool operator==(const Device&, const Device&) = default;
};

constexpr std::size_t kMaxLeftOut = 16;

// The full, immutable device list of an instance, sorted by id.
struct Snapshot {
  std::vector<Device> devices;
  std::map<std::string, std::map<std::string, Quantity>> counter_sets;
  // Why devices are not in the list, by what the module calls them; at most kMaxLeftOut of them.
  std::map<std::string, std::string> left_out;

  const Device* find(std::string_view id) const;
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

}  // namespace cardcage
