// The pools that a driver wants, and the form in which the API server takes each of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/core/backoff.h"
#include "host/core/clock.h"
#include "host/slices/slice_plan.h"
#include "host/slices/slice_view.h"

namespace cardcage {

// Reports for people.
struct PoolStatus {
  std::int64_t generation = 0;
  std::size_t slices = 0, devices = 0;
  std::vector<WithheldDevice> withheld;
  std::string rejection;  // why the API server refused the pool; empty = not refused
};

// Pure: no clock, no I/O.
class WantedPools {
 public:
  using Contents = std::map<std::string, PoolContentPtr>;
  using StoredSlices = std::map<std::string, std::vector<const Slice*>>;
  struct Plans {
    std::map<std::string, SlicePlan> needed;  // by pool, those that need writes
    std::map<std::string, PoolStatus> pools;
    Instant retry = Instant::max();  // time of the next attempt for a refused pool
  };
  struct Refusal {
    bool other_form = false;  // the pools are to be published in another form
    bool put_aside = false;   // this pool is tried again later
    bool is_new = false;      // with another reason than before
  };

  // `first` is the placement to try first.
  WantedPools(CounterPlacement first, std::uint32_t jitter_seed) : first_(first), seed_(jitter_seed) {}

  void set(Contents contents);
  // Returns false for a pool that is not wanted any more.
  bool contains(const std::string& pool) const { return pools_.contains(pool); }
  PoolContentPtr content(const std::string& pool) const;
  // Returns false while a pool must stay as it is stored, because its content is not known yet.
  bool all_known() const;
  // Returns true if a pool has devices that containers may get without a call of the driver.
  bool skip_calls() const;

  const FeatureGates& gates() const { return gates_; }
  // Changes the gates. Returns true if that made all views out of date.
  template <class Change>
  bool change_gates(Change change) {
    const FeatureGates before = gates_;
    change(gates_);
    if (gates_ == before) return false;
    reset_views();
    return true;
  }
  // Returns false if no view was out of date.
  bool make_views();
  // `stored` are the slices of the driver and node, by pool.
  Plans plan(const SliceOwner& owner, StoredSlices stored, Instant now);
  // Returns true if one of the plans retries a refused pool: its slices differ because of that, not because of others.
  bool is_retry(const std::map<std::string, SlicePlan>& plans) const;
  // The API server refused a wanted pool as invalid.
  Refusal reject(const std::string& name, const std::string& why, Instant now);

 private:
  struct Pool {
    PoolContentPtr content;
    std::shared_ptr<const PoolView> view;
    CounterPlacement placement = CounterPlacement::kSeparate;
    bool tried_both_placements = false;
    Instant rejected_until = Instant::min();
    std::optional<Backoff> rejections;  // pauses between retries
    std::string rejection;
  };
  void reset_views();

  const CounterPlacement first_;
  const std::uint32_t seed_;
  std::map<std::string, Pool> pools_;
  FeatureGates gates_;
};

}  // namespace cardcage
