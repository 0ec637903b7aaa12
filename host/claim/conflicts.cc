#include "host/claim/conflicts.h"

namespace cardcage {
namespace {

// Compares the module's id, then the name in Kubernetes. Either alone is not enough: a reload may have moved the device
// to another driver or module, and a claim rebuilt from its CDI file has only the name.
bool same_device(const ClaimRecord& holder, const ModulePart& held_part, const HeldDevice& held,
                 const std::string& module, const HeldDevice& wanted) {
  if (held_part.module == module && held.device_id == wanted.device_id) return true;
  const Allocation &a = held.allocation, &b = wanted.allocation;
  return holder.driver == b.driver && a.device == b.device && (a.pool.empty() || a.pool == b.pool);
}

}  // namespace

bool may_share(const Allocation& a, const Allocation& b) {
  return a.admin_access || b.admin_access || (!a.share_id.empty() && !b.share_id.empty() && a.share_id != b.share_id);
}

std::optional<Conflict> find_conflict(const ClaimKey& claimant, const HeldDevices& others, const HeldDevice& wanted,
                                      const Ledger& ledger) {
  const std::string& module = others.module();
  const Allocation& allocation = wanted.allocation;
  for (const auto& holder : ledger.holders(module, wanted.device_id, allocation.driver, allocation.device)) {
    if (holder->key() == claimant) continue;
    for (const ModulePart& part : holder->parts)
      for (const HeldDevice& held : part.devices)
        if (same_device(*holder, part, held, module, wanted) && !may_share(held.allocation, allocation))
          return Conflict{holder, ""};
  }
  if (allocation.admin_access) return std::nullopt;
  const auto ruled_out = others.ruled_out_by(wanted.device_id, claimant);
  return ruled_out ? std::optional(Conflict{ruled_out->holder, ruled_out->device->name}) : std::nullopt;
}

std::string to_string(const Conflict& conflict) {
  const ClaimRecord& holder = *conflict.holder;
  const std::string what =
      conflict.partition.empty() ? "it" : fmt::format("device '{}', a part of the same hardware,", conflict.partition);
  const std::string_view phase = to_string(holder.phase);
  if (holder.served().is_resource()) return fmt::format("{} is {} for resource '{}'", what, phase, holder.driver);
  return fmt::format("{} is {} for claim {} (UID {})", what, phase, claim_label(holder.ref), holder.ref.uid);
}

namespace {

// The scheduler knows counters, but not which device is a partition of which.
Status check_together(const ModulePart& part, const HeldDevices& module_devices) {
  for (auto device = part.devices.begin(); device != part.devices.end(); ++device)
    for (auto other = part.devices.begin(); other != device; ++other)
      if (!device->allocation.admin_access && !other->allocation.admin_access &&
          module_devices.overlap(device->device_id, other->device_id))
        return fail(
            Code::kFailedPrecondition,
            "device '{}' cannot be held together with device '{}', a part of the same hardware; delete the claim",
            device->allocation.device, other->allocation.device);
  return {};
}

}  // namespace

// The scheduler should never allocate a device twice, but some releases did (kubernetes#136269, kubernetes#133602).
Status check_free(const ClaimRecord& plan, const DeviceDirectory& devices, const Ledger& ledger) {
  for (const ModulePart& part : plan.parts) {
    const HeldDevices others(part.module, devices.snapshot(part.module), ledger);
    if (auto together = check_together(part, others); !together) return together;
    for (const HeldDevice& device : part.devices)
      if (const auto conflict = find_conflict(plan.key(), others, device, ledger))
        return fail(Code::kAlreadyExists,
                    "device '{}' is not free: {}; delete the pod of one of the two, or if the pod of a claim is gone "
                    "for good, unprepare the claim with cagectl",
                    device.allocation.device, to_string(*conflict));
  }
  return {};
}

}  // namespace cardcage
