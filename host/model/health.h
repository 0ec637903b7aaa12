// Health statements of modules about their devices, cause by cause, and the health composed from them.
#pragma once

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cardcage {

// The values are those of the module ABI.
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

// Bytes in one statement. The same as the kubelet's ResourceHealthMessageMaxLength and the limit of a module.
constexpr std::size_t kMaxHealthMessage = 1024;
constexpr std::chrono::seconds kMaxHealthTimeout = std::chrono::days(1);

// A statement about one cause of a device. It replaces the earlier one about the same device and cause.
struct Health {
  HealthState state = HealthState::kUnknown;
  std::string reason{};                    // CamelCase token
  std::string message{};                   // UTF-8, at most kMaxHealthMessage bytes
  std::chrono::seconds timeout{0};         // the state is unknown after this silence; 0 = never
  TaintEffect taint = TaintEffect::kNone;  // effect that the module advises
  std::string cause{};                     // CamelCase token; empty is a cause, too
  std::string taint_key{};                 // "example.com/ecc"; empty = the driver's key
  std::string taint_value{};               // empty = the reason
  std::optional<double> value{};           // measured value, in the unit of the declared cause

  friend auto operator<=>(const Health&, const Health&) = default;
};

// Returns the advised taint. A healthy device has none.
constexpr TaintEffect advised_taint(const Health& health) {
  return health.state == HealthState::kHealthy ? TaintEffect::kNone : health.taint;
}
constexpr bool keeps_claims_away(const Health& health) {
  return severity(advised_taint(health)) >= severity(TaintEffect::kNoSchedule);
}

// Causes per device.
constexpr std::size_t kMaxCauses = 16;

// The statements about one device, by cause.
using Statements = std::map<std::string, Health>;
// Returns whether a statement about a new cause fits: if the map is full, the least severe cause is evicted for a worse
// one.
inline bool make_room(Statements& statements, const Health& wanted) {
  if (statements.size() < kMaxCauses) return true;
  const auto value = [](const auto& entry) {
    const Health& health = entry.second;
    return std::pair(severity(health.state), health.timeout.count() > 0);  // evict those without a timeout first
  };
  const auto least = std::ranges::min_element(statements, {}, value);
  if (value(*least).first >= severity(wanted.state)) return false;
  statements.erase(least);
  return true;
}
// Returns false if there is no room for another cause.
inline bool put(Statements& statements, const Health& health) {
  if (!statements.contains(health.cause) && !make_room(statements, health)) return false;
  statements.insert_or_assign(health.cause, health);
  return true;
}

// The health that the kubelet is told for a device with a cause, in place of the default for the state.
enum class KubeletHealth : std::uint8_t { kHealthy, kUnhealthy, kUnknown };

// The known state of one cause.
struct CauseHealth {
  Health health;
  std::chrono::system_clock::time_point changed;
  std::string of_parent{};                 // id of the parent that has the cause; empty = the device itself
  bool quarantined = false;                // only an operator ends it
  std::optional<KubeletHealth> kubelet{};  // set by the cause's rule; nothing = the default for the state
  friend bool operator==(const CauseHealth&, const CauseHealth&) = default;
};

struct DeviceHealth {
  Health health;  // health of the worst cause; if several are bad, the message names the others
  std::chrono::system_clock::time_point changed;
  std::vector<CauseHealth> causes;  // worst first
  // The worst value that a cause sets for the kubelet; nothing without causes.
  std::optional<KubeletHealth> kubelet{};
};

// Composes the health of a device from its causes, in any order; unknown without causes.
DeviceHealth compose(std::vector<CauseHealth> causes);
// The strongest taint that a cause advises.
TaintEffect strongest_taint(const std::vector<CauseHealth>& causes);
// The kubelet's value for a state; the kubelet knows neither degraded nor unmonitored devices.
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
