#include "host/claim/recovery.h"

#include <algorithm>

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
