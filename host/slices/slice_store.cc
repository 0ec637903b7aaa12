#include "host/slices/slice_store.h"

#include <algorithm>
#include <utility>

#include "host/model/resource_version.h"

namespace cardcage {

SliceStore::Change SliceStore::replace(std::vector<Slice>&& listed) {
  std::map<std::string, Slice> old = std::exchange(slices_, {});
  for (Slice& slice : listed) {
    const auto known = old.find(slice.name);
    // If the version is the same, keep ours: put_altered may have stored it in the sent form.
    if (known != old.end() && known->second.resource_version == slice.resource_version)
      slice = std::move(known->second);
    slices_.insert_or_assign(slice.name, std::move(slice));
  }
  const auto is_missing = [this](const auto& known) { return !slices_.contains(known.first); };
  return std::ranges::any_of(old, is_missing) ? Change::kDeleted : Change::kNone;
}

SliceStore::Change SliceStore::apply(SliceEvent event) {
  const auto known = slices_.find(event.slice.name);
  if (known != slices_.end() && is_known(event.slice.resource_version, known->second.resource_version))
    return Change::kNone;
  if (event.deleted) {
    if (known == slices_.end()) return Change::kNone;
    slices_.erase(known);
    return Change::kDeleted;
  }
  slices_.insert_or_assign(event.slice.name, std::move(event.slice));
  return Change::kChanged;
}

void SliceStore::put(Slice stored) {
  const auto known = slices_.find(stored.name);
  // Takes the same version even if an event has brought it: put_altered changes its content.
  if (known != slices_.end() && known->second.resource_version != stored.resource_version &&
      is_known(stored.resource_version, known->second.resource_version))
    return;
  slices_.insert_or_assign(stored.name, std::move(stored));
}

void SliceStore::put_altered(const Slice& sent, Slice stored) {
  stored.devices = sent.devices;
  stored.shared_counters = sent.shared_counters;
  stored.skip_node_operations = sent.skip_node_operations;
  put(std::move(stored));
}

std::map<std::string, std::vector<const Slice*>> SliceStore::by_pool() const {
  std::map<std::string, std::vector<const Slice*>> pools;
  for (const auto& [name, slice] : slices_) pools[slice.pool.name].push_back(&slice);
  return pools;
}

}  // namespace cardcage
