#include "host/claim/device_plan.h"

#include "host/claim/config_resolution.h"

namespace cardcage {

Result<ClaimRecord> plan_device(const std::string& resource, const std::string& uid, const std::string& device_id,
                                const DeviceDirectory& devices, const Ledger& ledger, WallTime now) {
  const auto located = offered(devices.locate_id(resource, device_id));
  if (!located) return std::unexpected(located.error());
  const auto module = devices.module(located->module);
  if (!module) return std::unexpected(module.error());
  const auto defaults = resolve_configs({}, resource, {{&(*module)->identity(), {{"", located->device.kind}}}});
  if (!defaults) return std::unexpected(defaults.error());

  HeldDevice device{.allocation = {.request = "", .driver = resource, .pool = "", .device = located->device.name},
                    .device_id = located->device.id,
                    .cdi_name = uid,
                    .values = defaults->front().values.front(),
                    .edits = {},
                    .holders = {}};
  if (const auto known = ledger.find({resource, uid})) device.holders = holders_of(*known);
  ModulePart part;
  part.module = located->module;
  part.devices.push_back(std::move(device));
  return ClaimRecord{.driver = resource,
                     .ref = {"", "", uid},
                     .phase = ClaimPhase::kPreparing,
                     .boot_id = ledger.boot_id(),
                     .begun = now,
                     .prepared = {},
                     .parts = {std::move(part)}};
}

}  // namespace cardcage
