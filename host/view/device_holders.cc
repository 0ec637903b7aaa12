#include "host/view/device_holders.h"

#include "host/claim/conflicts.h"
#include "host/view/device_report.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxHolders = 3;  // holders that a message names

std::string to_text(const ClaimRef& ref) {
  return ref.name.empty() ? "claim " + ref.uid : fmt::format("'{}/{}'", ref.name_space, ref.name);
}

}  // namespace

std::string holder_names(const DeviceTable& table, const Ledger& ledger, const Supervisor& supervisor,
                         const Device& device) {
  std::vector<std::string> names;
  for (const ServedDevice* served : table.devices()) {
    if (served->supervisor != &supervisor) continue;
    if (served->device.id != device.id && served->device.parent_id != device.id) continue;
    const auto records = claims_holding(supervisor.config().name, held_device(*served), ledger);
    for (const ClaimRef& ref : device_holders(records)) names.push_back(to_text(ref));
  }
  const std::size_t all = names.size();
  names.resize(std::min(all, kMaxHolders));
  return fmt::format("{}{}", fmt::join(names, ", "),
                     all > kMaxHolders ? fmt::format(" and {} more", all - kMaxHolders) : "");
}

std::string why_replaced(const DeviceTable& table, const Ledger& ledger, const std::string& module,
                         const Device& device) {
  const ServedDevice* const served = table.find(module, device.id);
  if (!served) return "";
  const auto conflict = find_name_conflict({}, module, held_device(*served), ledger);
  return conflict ? fmt::format("{}; delete its pod to release it", to_string(*conflict)) : "";
}

}  // namespace cardcage
