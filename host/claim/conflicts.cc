#include "host/claim/conflicts.h"

namespace cardcage {
namespace {

// The part of the wanted device that a record has. Names mostly follow the kernel's numbers: while a claim has a
// device, its containers may reach another one that took over the name.
enum class Match : std::uint8_t { kNone, kName, kDevice };

// Compares the module's id, then the name in Kubernetes. Either alone is not enough: a reload may have moved the device
// to another driver or module, and a claim rebuilt from its CDI file has only the name. Names of an earlier boot mean
// nothing.
Match match(const ClaimRecord& holder, const ModulePart& held_part, const HeldDevice& held, const std::string& module,
            const HeldDevice& wanted, const std::string& boot_id) {
  if (!holds_devices(holder, boot_id)) return Match::kNone;
  const bool same_module = held_part.module == module, same_id = held.device_id == wanted.device_id;
  if (same_module && same_id) return Match::kDevice;
  const Allocation &a = held.allocation, &b = wanted.allocation;
  const bool same_place = holder.driver == b.driver && (a.pool.empty() || a.pool == b.pool);
  if (a.device != b.device || (!same_module && !same_place)) return Match::kNone;
  if (same_id || held.device_id.empty()) return Match::kDevice;
  return holder.boot_id == boot_id ? Match::kName : Match::kNone;
}

// Calls `visit` with each record that has a part of the device until it returns true.
template <class Visit>
void each_holder(const std::string& module, const HeldDevice& wanted, const Ledger& ledger, Visit visit) {
  const Allocation& allocation = wanted.allocation;
  for (const auto& holder : ledger.holders(module, wanted.device_id, allocation.driver, allocation.device))
    for (const ModulePart& part : holder->parts)
      for (const HeldDevice& held : part.devices)
        if (const Match its = match(*holder, part, held, module, wanted, ledger.boot_id()); its != Match::kNone)
          if (visit(holder, held, its)) return;
}

struct Conflicts {
  std::optional<Conflict> user, name;  // has the device or a part of it; has another device that had its name
};
// Collects both in one pass: a list of many devices asks for each of them.
Conflicts conflicts_of(const ClaimKey& claimant, const HeldDevices& others, const HeldDevice& wanted,
                       const Ledger& ledger) {
  Conflicts found;
  each_holder(others.module(), wanted, ledger, [&](const auto& holder, const HeldDevice& held, Match its) {
    if (holder->is(claimant)) return false;
    if (its == Match::kName && !found.name) found.name = Conflict{holder, "", wanted.allocation.device, held.device_id};
    if (its == Match::kDevice && !may_share(held.allocation, wanted.allocation)) found.user = Conflict{holder};
    return found.user.has_value();
  });
  if (found.user || wanted.allocation.admin_access) return found;
  if (const auto ruled_out = others.ruled_out_by(wanted.device_id, claimant))
    found.user = Conflict{ruled_out->holder, ruled_out->device->name};
  return found;
}

}  // namespace

bool may_share(const Allocation& a, const Allocation& b) {
  return a.admin_access || b.admin_access || (!a.share_id.empty() && !b.share_id.empty() && a.share_id != b.share_id);
}

std::vector<std::shared_ptr<const ClaimRecord>> claims_holding(const std::string& module, const HeldDevice& device,
                                                               const Ledger& ledger) {
  std::vector<std::shared_ptr<const ClaimRecord>> holders;
  each_holder(module, device, ledger, [&](const auto& holder, const HeldDevice&, Match its) {
    if (its == Match::kDevice && (holders.empty() || holders.back() != holder)) holders.push_back(holder);
    return false;
  });
  return holders;
}

std::optional<Conflict> find_name_conflict(const ClaimKey& claimant, const std::string& module,
                                           const HeldDevice& wanted, const Ledger& ledger) {
  std::optional<Conflict> found;
  each_holder(module, wanted, ledger, [&](const auto& holder, const HeldDevice& held, Match its) {
    if (its == Match::kName && !holder->is(claimant))
      found = Conflict{holder, "", wanted.allocation.device, held.device_id};
    return found.has_value();
  });
  return found;
}

std::optional<Conflict> find_user(const ClaimKey& claimant, const HeldDevices& others, const HeldDevice& wanted,
                                  const Ledger& ledger) {
  return conflicts_of(claimant, others, wanted, ledger).user;
}

std::optional<Conflict> find_conflict(const ClaimKey& claimant, const HeldDevices& others, const HeldDevice& wanted,
                                      const Ledger& ledger) {
  const Conflicts conflicts = conflicts_of(claimant, others, wanted, ledger);
  if (conflicts.user) return conflicts.user;
  if (conflicts.name) return conflicts.name;
  for (const Device* const device : others.overlapping(wanted.device_id)) {
    const HeldDevice overlapping{
        .allocation = {.driver = wanted.allocation.driver, .pool = wanted.allocation.pool, .device = device->name},
        .device_id = device->id};
    if (auto named = find_name_conflict(claimant, others.module(), overlapping, ledger)) return named;
  }
  return std::nullopt;
}

std::string to_string(const Conflict& conflict) {
  const ClaimRecord& holder = *conflict.holder;
  const std::string who = holder.served().is_resource()
                              ? fmt::format("resource '{}'", holder.driver)
                              : fmt::format("claim {} (UID {})", claim_label(holder.ref), holder.ref.uid);
  const std::string_view phase = to_string(holder.phase);
  if (!conflict.name.empty())
    return fmt::format("device '{}', which had the name '{}' before, is {} for {}", conflict.other_id, conflict.name,
                       phase, who);
  const std::string what =
      conflict.partition.empty() ? "it" : fmt::format("device '{}', a part of the same hardware,", conflict.partition);
  return fmt::format("{} is {} for {}", what, phase, who);
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
