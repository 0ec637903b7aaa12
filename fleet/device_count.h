// How many devices are in each state.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

#include "fleet/fleet_device.h"

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
  // Adds the members "devices", "free" and so on.
  void add_to(json::object& object) const {
    object["devices"] = total();
    object["free"] = (*this)[DeviceState::kFree];
    object["held"] = (*this)[DeviceState::kHeld];
    object["unhealthy"] = (*this)[DeviceState::kUnhealthy];
    object["cordoned"] = (*this)[DeviceState::kCordoned];
  }

 private:
  std::array<std::uint32_t, kDeviceStates> by_state_{};
};

}  // namespace cardcage
