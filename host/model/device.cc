#include "host/model/device.h"

#include <algorithm>

namespace cardcage {

const Device* Snapshot::find(std::string_view id) const {
  const auto device = std::ranges::lower_bound(devices, id, {}, &Device::id);
  return device != devices.end() && device->id == id ? &*device : nullptr;
}

}  // namespace cardcage
