// The devices of all nodes of a cluster, from the standard objects of the API server.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "fleet/fleet_pool.h"
#include "fleet/natural_order.h"

namespace cardcage {

// [core] Holds 5,000 nodes with 8 devices of 28 attributes each in a few tens of megabytes: attributes are compressed.
class FleetStore {
 public:
  // The devices of a pool that are on one node.
  struct Part {
    const FleetPool* pool = nullptr;
    std::span<const FleetPool::Device> devices;
  };
  struct ByNaturalOrder {
    bool operator()(const Name& a, const Name& b) const { return a != b && natural_less(a.get(), b.get()); }
  };
  // The parts are in the order of driver and pool.
  using Nodes = std::map<Name, std::vector<Part>, ByNaturalOrder>;

  // Calls `changed` after each change.
  explicit FleetStore(std::function<void()> changed) : changed_(std::move(changed)) {}
  FleetStore(const FleetStore&) = delete;
  FleetStore& operator=(const FleetStore&) = delete;

  void put(FleetSlice slice);
  void remove_slice(const std::string& name);
  // A claim without devices is forgotten.
  void put(FleetClaim claim);
  void remove_claim(const std::string& name_space, const std::string& name);
  void put(FleetTaintRule rule);
  void remove_rule(const std::string& name);

  // Each forgets the objects that a complete list does not name. Claims are named by namespace and name: "ns/name".
  using Seen = std::unordered_set<std::string>;
  void keep_slices(const Seen& seen);
  void keep_claims(const Seen& seen);
  void keep_rules(const Seen& seen);

  const Nodes& nodes() const { return nodes_; }
  const FleetPool::Rules& rules() const { return rules_; }
  // Pools whose newest generation lacks slices, for example because their driver is writing them.
  std::vector<const FleetPool*> incomplete_pools() const;
  // Grows with each change.
  std::uint64_t revision() const { return revision_; }
  // Counts a change of something else that the pages show.
  void touch();

 private:
  using PoolKey = std::pair<Name, Name>;  // driver, pool
  struct ByKey {
    bool operator()(const PoolKey& a, const PoolKey& b) const {
      return a.first == b.first ? ByAddress()(a.second, b.second) : ByAddress()(a.first, b.first);
    }
  };

  FleetPool& pool(const Name& driver, const Name& name);
  void list_by_node(const FleetPool& pool);
  void unlist(const FleetPool& pool);
  void drop_if_unused(const PoolKey& key);
  std::set<PoolKey, ByKey> forget(const std::string& claim);
  void update_pools_of(const FleetTaintRule& rule);

  const std::function<void()> changed_;
  std::map<PoolKey, std::unique_ptr<FleetPool>, ByKey> pools_;
  Nodes nodes_;
  std::unordered_map<std::string, PoolKey> slices_;                      // by name
  std::unordered_map<std::string, std::unique_ptr<FleetClaim>> claims_;  // by namespace and name
  FleetPool::Rules rules_;
  std::uint64_t revision_ = 0;
};

}  // namespace cardcage
