// The status of a claim's devices that a driver states for users: entries of ResourceClaim.status.devices (KEP-4817).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cardcage {

using WallTime = std::chrono::system_clock::time_point;  // stored in milliseconds

struct DeviceCondition {
  enum class Status : std::uint8_t { kFalse, kTrue, kUnknown };
  std::string type;  // "Ready", "example.com/Attached"
  Status status = Status::kUnknown;
  std::string reason;   // CamelCase, never empty
  std::string message;  // for people; may be empty
  WallTime since;       // start of the current status; a new reason or message does not change it
  friend bool operator==(const DeviceCondition&, const DeviceCondition&) = default;
};

struct NetworkData {
  std::string interface_name;    // interface in the pod
  std::vector<std::string> ips;  // "10.1.2.3/24"
  std::string hardware_address;
  friend bool operator==(const NetworkData&, const NetworkData&) = default;
};

// One entry; driver, pool, device and share identify it.
struct DeviceStatus {
  std::string driver, pool, device;
  std::string share_id;  // empty = none
  std::vector<DeviceCondition> conditions;
  std::string data;  // a JSON object as text; empty = none
  std::optional<NetworkData> network;
  friend bool operator==(const DeviceStatus&, const DeviceStatus&) = default;
};

// Sets the time of each condition in `stated`: the time in `before` if the status is unchanged, else `now`.
void set_times(std::vector<DeviceCondition>& stated, const std::vector<DeviceCondition>& before, WallTime now);

}  // namespace cardcage
