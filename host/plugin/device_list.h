// The devices of a device-plugin resource, in the form that the kubelet gets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/core/board.h"

namespace cardcage {

// At most 63 bytes (deviceplugin/v1beta1/api.proto); the kubelet does not check it.
constexpr std::size_t kMaxDeviceId = 63;

struct ListedDevice {
  std::string id;        // the module's, with "::n" for a replica
  bool healthy = false;  // the kubelet hands out healthy devices only; running pods keep unhealthy ones
  std::vector<std::int32_t> numa_nodes;
  friend bool operator==(const ListedDevice&, const ListedDevice&) = default;
};
// All devices of a resource, sorted by id.
using DeviceList = std::vector<ListedDevice>;
// Null if the device is not listed.
inline const ListedDevice* find_device(const DeviceList& list, std::string_view id) {
  const auto entry = std::ranges::lower_bound(list, id, {}, &ListedDevice::id);
  return entry != list.end() && entry->id == id ? &*entry : nullptr;
}
using DeviceListBoard = Board<DeviceList>;  // one per resource
using DeviceListPtr = DeviceListBoard::Value;

}  // namespace cardcage
