#include "host/ledger/device_index.h"

#include <algorithm>

namespace cardcage {

template <class Visit>
void DeviceIndex::each(const ClaimRecord& record, Visit visit) {
  for (const ModulePart& part : record.parts)
    for (const HeldDevice& device : part.devices) {
      visit(ids_, KeyView(part.module, device.device_id));
      visit(names_in_module_, KeyView(part.module, device.allocation.device));
      visit(names_at_driver_, KeyView(record.driver, device.allocation.device));
    }
}

void DeviceIndex::add(const std::shared_ptr<const ClaimRecord>& record) {
  each(*record, [&](Map& map, const KeyView& key) {
    auto entry = map.find(key);
    if (entry == map.end()) entry = map.try_emplace(Key(key)).first;
    if (std::ranges::find(entry->second, record) == entry->second.end()) entry->second.push_back(record);
  });
}

void DeviceIndex::remove(const std::shared_ptr<const ClaimRecord>& record) {
  each(*record, [&](Map& map, const KeyView& key) {
    const auto entry = map.find(key);
    if (entry == map.end()) return;
    std::erase(entry->second, record);
    if (entry->second.empty()) map.erase(entry);
  });
}

DeviceIndex::Records DeviceIndex::find(std::string_view module, std::string_view device_id, std::string_view driver,
                                       std::string_view device) const {
  Records found;
  const auto add = [&](const Map& map, const KeyView& key) {
    const auto entry = map.find(key);
    if (entry == map.end()) return;
    for (const auto& record : entry->second)
      if (std::ranges::find(found, record) == found.end()) found.push_back(record);
  };
  add(ids_, {module, device_id});
  add(names_in_module_, {module, device});
  add(names_at_driver_, {driver, device});
  if (found.size() > 1) std::ranges::sort(found, {}, [](const auto& record) { return record->key(); });
  return found;
}

}  // namespace cardcage
