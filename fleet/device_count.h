// How many devices are in each state.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <string>

#include "fleet/fleet_device.h"
#include "host/core/json_fields.h"

namespace cardcage {

class DeviceCount {
 public:
  void add(DeviceState state) { ++by_state_[static_cast<std::size_t>(state)]; }
  std::uint32_t operator[](DeviceState state) const { return by_state_[static_cast<std::size_t>(state)]; }
  std::uint32_t total() const { return std::accumulate(by_state_.begin(), by_state_.end(), std::uint32_t{0}); }
  // The worst state of a device. Call it only if there is a device.
  DeviceState worst() const {
    std::size_t state = 0;
    while (by_state_[state] == 0) ++state;
    return static_cast<DeviceState>(state);
  }
  // Appends members without braces: "devices":8,"free":3,...
  void write_members(std::string& out) const {
    out += fmt::format(R"("devices":{},"free":{},"held":{},"unhealthy":{},"cordoned":{})", total(),
                       (*this)[DeviceState::kFree], (*this)[DeviceState::kHeld], (*this)[DeviceState::kUnhealthy],
                       (*this)[DeviceState::kCordoned]);
  }

 private:
  std::array<std::uint32_t, kDeviceStates> by_state_{};
};

}  // namespace cardcage
