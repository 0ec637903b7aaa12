#include "host/claim/device_directory.h"

#include <algorithm>

namespace cardcage {
namespace {

bool is_configured(const std::string& module, const DeviceDirectory& devices) {
  if (module.empty()) return false;
  const auto running = devices.module(module);
  return running || running.error().code != Code::kNotFound;
}

}  // namespace

Result<LocatedDevice> offered(Result<LocatedDevice> located) {
  if (!located) return located;
  if (!located->quiesced.empty()) return fail(Code::kUnavailable, "{}", located->quiesced);
  if (located->draining.empty()) return located;
  return fail(Code::kFailedPrecondition,
              "its module '{}' is draining and gives out no more devices: {}; "
              "delete the pod, so that it is scheduled again",
              located->module, located->draining);
}

LocatedParts locate_parts(const ClaimRecord& record, const DeviceDirectory& devices) {
  LocatedParts located;
  for (const ModulePart& part : record.parts) {
    if (is_configured(part.module, devices)) {
      located.parts.push_back(part);
      continue;
    }
    for (HeldDevice device : part.devices) {
      const auto found = devices.locate(record.driver, device.allocation.pool, device.allocation.device);
      if (!found) {
        if (!located.missing) located.missing = found.error();
        continue;
      }
      if (device.device_id.empty()) device.device_id = found->device.id;
      auto owner = std::ranges::find(located.parts, found->module, &ModulePart::module);
      if (owner == located.parts.end()) {
        owner = located.parts.insert(owner, part);
        owner->module = found->module;
        owner->devices.clear();
      }
      owner->devices.push_back(std::move(device));
    }
  }
  return located;
}

}  // namespace cardcage
