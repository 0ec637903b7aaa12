#include "host/claim/device_directory.h"

#include <algorithm>

namespace cardcage {

Result<std::vector<ModulePart>> located_parts(const ClaimRecord& record, const DeviceDirectory& devices) {
  std::vector<ModulePart> parts;
  for (const ModulePart& part : record.parts) {
    if (!part.module.empty()) {
      parts.push_back(part);
      continue;
    }
    for (HeldDevice device : part.devices) {
      const auto located = devices.locate(record.driver, device.allocation.pool, device.allocation.device);
      if (!located) return std::unexpected(located.error());
      device.device_id = located->device.id;
      auto owner = std::ranges::find(parts, located->module_name, &ModulePart::module);
      if (owner == parts.end()) {
        owner = parts.emplace(parts.end());
        owner->module = located->module_name;
        owner->edits = part.edits;
      }
      owner->devices.push_back(std::move(device));
    }
  }
  return parts;
}

}  // namespace cardcage
