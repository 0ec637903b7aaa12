#include "host/ledger/history.h"

namespace cardcage {

HistoryEntry history_entry(const ClaimRecord& record, const ModulePart& part, const HeldDevice& device,
                           const Holder& holder, WallTime released) {
  return {.driver = record.driver,
          .ref = {holder.name_space, holder.pod, holder.id},
          .module = part.module,
          .pool = "",
          .device = device.allocation.device,
          .request = holder.container,
          .share_id = "",
          .prepared = holder.since,
          .released = released};
}

std::vector<HistoryEntry> history_of(const ClaimRecord& record, WallTime released) {
  std::vector<HistoryEntry> entries;
  if (record.prepared == WallTime{}) return entries;
  for (const ModulePart& part : record.parts) {
    for (const HeldDevice& device : part.devices) {
      const Allocation& held = device.allocation;
      for (const Holder& holder : device.holders)
        entries.push_back(history_entry(record, part, device, holder, released));
      if (device.holders.empty())
        entries.push_back({.driver = record.driver,
                           .ref = record.ref,
                           .module = part.module,
                           .pool = held.pool,
                           .device = held.device,
                           .request = held.request,
                           .share_id = held.share_id,
                           .prepared = record.prepared,
                           .released = released});
    }
  }
  return entries;
}

}  // namespace cardcage
