// What modules say about the health of a device, cause by cause, and what that amounts to.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cardcage {

// The numbers are those of the module ABI.
enum class HealthState : std::uint8_t { kUnknown = 0, kHealthy = 1, kUnhealthy = 2, kUnmonitored = 3, kDegraded = 4 };
enum class TaintEffect : std::uint8_t { kNone = 0, kNoSchedule = 1, kNoExecute = 2, kInform = 3 };

// A greater number is worse.
constexpr int severity(HealthState state) {
  switch (state) {
    case HealthState::kHealthy: return 0;
    case HealthState::kDegraded: return 1;
    case HealthState::kUnmonitored: return 2;
    case HealthState::kUnknown: return 3;
    case HealthState::kUnhealthy: break;
  }
  return 4;
}
constexpr int severity(TaintEffect effect) {
  switch (effect) {
    case TaintEffect::kNone: return 0;
    case TaintEffect::kInform: return 1;
    case TaintEffect::kNoSchedule: return 2;
    case TaintEffect::kNoExecute: break;
  }
  return 3;
}

// Of one statement. The kubelet's ResourceHealthMessageMaxLength, and what a module may set.
constexpr std::size_t kMaxHealthMessage = 1024;
constexpr std::chrono::seconds kMaxHealthTimeout = std::chrono::days(1);

// A statement about one cause of a device. It replaces the earlier one about the same device and cause.
struct Health {
  HealthState state = HealthState::kUnknown;
  std::string reason{};                    // CamelCase token
  std::string message{};                   // UTF-8, at most kMaxHealthMessage bytes
  std::chrono::seconds timeout{0};         // the state is unknown after this silence; 0 = never
  TaintEffect taint = TaintEffect::kNone;  // as the module advises
  std::string cause{};                     // CamelCase token; empty is a cause, too
  std::string taint_key{};                 // "example.com/ecc"; empty = the one of the driver
  std::string taint_value{};               // empty = the reason
  std::optional<double> value{};           // what was measured, in the unit of the declared cause

  friend bool operator==(const Health&, const Health&) = default;
};

// A healthy device has no taint, whatever its module advised.
constexpr TaintEffect advised_taint(const Health& health) {
  return health.state == HealthState::kHealthy ? TaintEffect::kNone : health.taint;
}
constexpr bool keeps_claims_away(const Health& health) {
  return severity(advised_taint(health)) >= severity(TaintEffect::kNoSchedule);
}

// Of one device.
constexpr std::size_t kMaxCauses = 16;

// True if a statement about a new cause fits into `causes`, a map by cause: if it is full, the least severe one makes
// room for one that is worse. `health_of` finds the statement in a value of the map.
template <class Causes, class HealthOf = std::identity>
bool make_room(Causes& causes, const Health& wanted, HealthOf health_of = {}) {
  if (causes.size() < kMaxCauses) return true;
  const auto value = [&](const auto& entry) {
    const Health& health = std::invoke(health_of, entry.second);
    return std::pair(severity(health.state), health.timeout.count() > 0);  // whoever has a timeout is waited for
  };
  const auto least = std::ranges::min_element(causes, {}, value);
  if (value(*least).first >= severity(wanted.state)) return false;
  causes.erase(least);
  return true;
}

// The statements about one device, by cause.
using Statements = std::map<std::string, Health>;
// False if there is no room for another cause.
inline bool put(Statements& statements, const Health& health) {
  if (!statements.contains(health.cause) && !make_room(statements, health)) return false;
  statements.insert_or_assign(health.cause, health);
  return true;
}

// What the kubelet is told of a device with a cause, instead of what its state amounts to.
enum class KubeletHealth : std::uint8_t { kHealthy, kUnhealthy, kUnknown };

// What is known about one cause.
struct CauseHealth {
  Health health;
  std::chrono::system_clock::time_point changed;
  std::string of_parent{};                 // the id of the parent that has the cause; empty = the device itself
  bool quarantined = false;                // only an operator ends it
  std::optional<KubeletHealth> kubelet{};  // by its rule; nothing = what the state amounts to
  friend bool operator==(const CauseHealth&, const CauseHealth&) = default;
};

struct DeviceHealth {
  Health health;  // of the worst cause; if several are bad, the message names the others
  std::chrono::system_clock::time_point changed;
  std::vector<CauseHealth> causes;  // worst first
  // The worst that one of the causes has the kubelet told; nothing without causes.
  std::optional<KubeletHealth> kubelet{};
};

// The health of a device with these causes, in any order; unknown if there is none.
DeviceHealth compose(std::vector<CauseHealth> causes);
// The strongest taint that one of the causes advises.
TaintEffect strongest_taint(const std::vector<CauseHealth>& causes);
// What a state amounts to for the kubelet, which knows neither degraded nor unmonitored devices.
constexpr KubeletHealth told_to_kubelet(HealthState state) {
  switch (state) {
    case HealthState::kHealthy:
    case HealthState::kDegraded: return KubeletHealth::kHealthy;
    case HealthState::kUnhealthy: return KubeletHealth::kUnhealthy;
    case HealthState::kUnknown:
    case HealthState::kUnmonitored: break;
  }
  return KubeletHealth::kUnknown;
}
KubeletHealth told_to_kubelet(const DeviceHealth& device);

}  // namespace cardcage
