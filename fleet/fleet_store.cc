#include "fleet/fleet_store.h"

#include <algorithm>

namespace cardcage {
namespace {

std::string claim_key(const std::string& name_space, const std::string& name) { return name_space + "/" + name; }

bool part_less(const FleetStore::Part& a, const FleetStore::Part& b) {
  if (a.pool->driver() != b.pool->driver()) return a.pool->driver().get() < b.pool->driver().get();
  return a.pool != b.pool && natural_less(a.pool->name().get(), b.pool->name().get());
}

}  // namespace

FleetPool& FleetStore::pool(const Name& driver, const Name& name) {
  auto& pool = pools_[{driver, name}];
  if (!pool) pool = std::make_unique<FleetPool>(driver, name);
  return *pool;
}

void FleetStore::unlist(const FleetPool& pool) {
  const Name* former = nullptr;
  for (const FleetPool::Device& device : pool.devices()) {
    const Name& name = device.about().node;
    if (former != nullptr && *former == name) continue;
    former = &name;
    const auto node = nodes_.find(name);
    std::erase_if(node->second, [&pool](const Part& part) { return part.pool == &pool; });
    if (node->second.empty()) nodes_.erase(node);
  }
}

void FleetStore::list_by_node(const FleetPool& pool) {
  for (auto rest = pool.devices(); !rest.empty();) {
    const Name& node = rest.front().about().node;
    const auto end = std::ranges::find_if_not(rest, [&](const auto& device) { return device.about().node == node; });
    const auto size = static_cast<std::size_t>(end - rest.begin());
    std::vector<Part>& parts = nodes_[node];
    const Part part{&pool, rest.first(size)};
    parts.insert(std::ranges::upper_bound(parts, part, part_less), part);
    rest = rest.subspan(size);
  }
}

void FleetStore::drop_if_unused(const PoolKey& key) {
  const auto found = pools_.find(key);
  if (found != pools_.end() && found->second->unused()) pools_.erase(found);
}

void FleetStore::touch() {
  ++revision_;
  changed_();
}

void FleetStore::put(FleetSlice slice) {
  const PoolKey key{slice.driver, slice.pool};
  const auto before = slices_.find(slice.name.get());
  // A slice of this name may have been replaced by one of another pool.
  if (before != slices_.end() && before->second != key) remove_slice(slice.name.get());
  slices_.insert_or_assign(slice.name.get(), key);
  FleetPool& of_slice = pool(slice.driver, slice.pool);
  unlist(of_slice);
  of_slice.put(std::make_shared<const FleetSlice>(std::move(slice)));
  of_slice.update_states(rules_);
  list_by_node(of_slice);
  touch();
}

void FleetStore::remove_slice(const std::string& name) {
  const auto found = slices_.find(name);
  if (found == slices_.end()) return;
  const PoolKey key = found->second;
  slices_.erase(found);
  FleetPool& of_slice = pool(key.first, key.second);
  unlist(of_slice);
  of_slice.remove(Name(name));
  of_slice.update_states(rules_);
  list_by_node(of_slice);
  drop_if_unused(key);
  touch();
}

// Returns the pools whose devices the claim held.
std::set<FleetStore::PoolKey, FleetStore::ByKey> FleetStore::forget(const std::string& claim) {
  std::set<PoolKey, ByKey> pools;
  const auto found = claims_.find(claim);
  if (found == claims_.end()) return pools;
  for (const FleetClaim::Device& device : found->second->devices) pools.insert({device.driver, device.pool});
  for (const PoolKey& key : pools) pool(key.first, key.second).release(*found->second);
  claims_.erase(found);
  return pools;
}

void FleetStore::put(FleetClaim claim) {
  const std::string key = claim_key(claim.name_space.get(), claim.name);
  std::set<PoolKey, ByKey> touched = forget(key);
  if (!claim.devices.empty()) {
    const auto& stored = claims_[key] = std::make_unique<FleetClaim>(std::move(claim));
    for (const FleetClaim::Device& device : stored->devices) {
      pool(device.driver, device.pool).hold(device.name, *stored, device.admin);
      touched.insert({device.driver, device.pool});
    }
  }
  for (const PoolKey& touched_key : touched) {
    pool(touched_key.first, touched_key.second).update_states(rules_);
    drop_if_unused(touched_key);
  }
  if (!touched.empty()) touch();
}

void FleetStore::remove_claim(const std::string& name_space, const std::string& name) {
  const auto touched = forget(claim_key(name_space, name));
  for (const PoolKey& key : touched) {
    pool(key.first, key.second).update_states(rules_);
    drop_if_unused(key);
  }
  if (!touched.empty()) touch();
}

void FleetStore::update_pools_of(const FleetTaintRule& rule) {
  for (const auto& [key, pool] : pools_)
    if (rule.matches(key.first, key.second)) pool->update_states(rules_);
}

void FleetStore::put(FleetTaintRule rule) {
  remove_rule(rule.name);
  const std::string name = rule.name;
  const FleetTaintRule& stored = rules_[name] = std::move(rule);
  update_pools_of(stored);
  touch();
}

void FleetStore::remove_rule(const std::string& name) {
  const auto found = rules_.find(name);
  if (found == rules_.end()) return;
  // The pools point to the rule until they are updated.
  const auto removed = rules_.extract(found);
  update_pools_of(removed.mapped());
  touch();
}

void FleetStore::keep_slices(const Seen& seen) {
  std::vector<std::string> gone;
  for (const auto& [name, key] : slices_)
    if (!seen.contains(name)) gone.push_back(name);
  for (const std::string& name : gone) remove_slice(name);
}

void FleetStore::keep_claims(const Seen& seen) {
  std::vector<std::pair<std::string, std::string>> gone;
  for (const auto& [key, claim] : claims_)
    if (!seen.contains(key)) gone.emplace_back(claim->name_space.get(), claim->name);
  for (const auto& [name_space, name] : gone) remove_claim(name_space, name);
}

void FleetStore::keep_rules(const Seen& seen) {
  std::vector<std::string> gone;
  for (const auto& [name, rule] : rules_)
    if (!seen.contains(name)) gone.push_back(name);
  for (const std::string& name : gone) remove_rule(name);
}

std::vector<const FleetPool*> FleetStore::incomplete_pools() const {
  std::vector<const FleetPool*> incomplete;
  for (const auto& [key, pool] : pools_)
    if (pool->incomplete()) incomplete.push_back(pool.get());
  std::ranges::sort(incomplete, [](const auto* a, const auto* b) { return part_less({a, {}}, {b, {}}); });
  return incomplete;
}

}  // namespace cardcage
