#include "host/claim/recovery.h"

#include <algorithm>

#include "host/claim/conflicts.h"
#include "host/core/log.h"

namespace cardcage {

CdiRecovery recover_cdi(const Ledger& ledger, const CdiWriter& cdi) {
  CdiRecovery recovery;
  for (const auto& [key, claim] : ledger.claims()) {
    if (!is_whole(*claim, ledger.boot_id())) continue;
    if (auto written = cdi.write(key.driver, key.uid, cdi_spec(*claim)); written)
      ++recovery.written;
    else
      recovery.problems.push_back(written.error());
  }
  const auto swept = cdi.sweep([&](const ClaimFile& file) {
    const auto claim = ledger.find({file.served.name, file.uid});
    return claim && claim->boot_id == ledger.boot_id();
  });
  if (swept)
    recovery.removed = *swept;
  else
    recovery.problems.push_back(swept.error());
  return recovery;
}

std::vector<ModuleClaim> live_claims(const Ledger& ledger, const DeviceDirectory& devices, const std::string& module) {
  std::vector<ModuleClaim> live;
  for (const auto& [key, claim] : ledger.claims()) {
    const LocatedParts located = locate_parts(*claim, devices);
    for (const ModulePart& part : located.parts)
      if (part.module == module) live.push_back(module_claim(*claim, part, ledger.boot_id()));
  }
  return live;
}

void adopt_after_reboot(ClaimRecord& record, const DeviceDirectory& devices, const Ledger& ledger) {
  if (record.boot_id == ledger.boot_id()) return;
  std::erase_if(record.parts, [&](const ModulePart& part) {
    const HeldDevices others(part.module, devices.snapshot(part.module), ledger);
    const auto user = [&](const HeldDevice& device) { return find_user(record.key(), others, device, ledger); };
    const auto used = std::ranges::find_if(part.devices, [&](const auto& device) { return user(device).has_value(); });
    if (used == part.devices.end()) return false;
    log(LogLevel::kInfo, "module is not called to release a device that another claim got after the node booted",
        {{"module", part.module}, {"claim", claim_label(record.ref)}, {"device", used->device_id}});
    return true;
  });
  for (ModulePart& part : record.parts) part.state_of_other_boot = true;
  record.boot_id = ledger.boot_id();
}

std::size_t count_claims(const Ledger& ledger, const DeviceDirectory& devices, const std::string& module) {
  return static_cast<std::size_t>(std::ranges::count_if(ledger.claims(), [&](const auto& entry) {
    const ClaimRecord& claim = *entry.second;
    const auto its = [&](const ModulePart& part) { return part.module == module; };
    return std::ranges::any_of(claim.parts, its) || std::ranges::any_of(locate_parts(claim, devices).parts, its);
  }));
}

std::map<std::string, std::set<std::string>> held_resources(const Ledger& ledger) {
  std::map<std::string, std::set<std::string>> held;
  for (const auto& [key, claim] : ledger.claims())
    if (const ServedName served = claim->served(); served.is_resource())
      for (const ModulePart& part : claim->parts) held[part.module].insert(served.name);
  return held;
}

}  // namespace cardcage
