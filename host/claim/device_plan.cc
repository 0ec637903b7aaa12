#include "host/claim/device_plan.h"

#include "host/claim/config_resolution.h"

namespace cardcage {

std::shared_ptr<const ClaimRecord> held_elsewhere(const std::string& resource, const std::string& module,
                                                  const Device& device, const Ledger& ledger) {
  for (const auto& holder : ledger.holders(module, device.id, resource, device.name))
    if (holder->driver != resource) return holder;
  return nullptr;
}

Result<ClaimRecord> plan_device(const std::string& resource, const std::string& name, const DeviceDirectory& devices,
                                const Ledger& ledger, WallTime now) {
  const auto located = offered(devices.locate(resource, "", name));
  if (!located) return std::unexpected(located.error());
  if (const auto holder = held_elsewhere(resource, located->module_name, located->device, ledger))
    return fail(Code::kAlreadyExists,
                "it is still {} as {}; delete the pods that use it, then it is free for the resource",
                to_string(holder->phase), claim_subject(holder->driver, holder->ref));
  const auto defaults = resolve_configs({}, resource, {{&located->module->identity(), {""}}});
  if (!defaults) return std::unexpected(defaults.error());

  HeldDevice device{.allocation = {.request = "", .driver = resource, .pool = "", .device = name},
                    .device_id = located->device.id,
                    .cdi_name = name,
                    .values = defaults->front().values.front(),
                    .edits = {},
                    .holders = {}};
  if (const auto known = ledger.find({resource, name})) device.holders = holders_of(*known);
  ModulePart part;
  part.module = located->module_name;
  part.devices.push_back(std::move(device));
  return ClaimRecord{.driver = resource,
                     .ref = {"", "", name},
                     .phase = ClaimPhase::kPreparing,
                     .boot_id = ledger.boot_id(),
                     .begun = now,
                     .prepared = {},
                     .parts = {std::move(part)}};
}

}  // namespace cardcage
