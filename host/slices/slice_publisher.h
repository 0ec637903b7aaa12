// Keeps the ResourceSlices of one driver on this node as they should be, whatever happens to them.
//
// It owns all slices of its driver and node: those of pools that are not wanted are deleted, those that somebody
// deletes (a starting kubelet wipes them) come back at once, those that somebody changes are corrected, ever more
// slowly if he insists. Stopping leaves them: the kubelet wipes them 30 s after the driver's sockets are gone.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/core/backoff.h"
#include "host/core/clock.h"
#include "host/core/wakeup.h"
#include "host/model/cluster.h"
#include "host/slices/slice_plan.h"
#include "host/slices/slice_store.h"
#include "host/slices/slice_view.h"
#include "host/slices/slice_writer.h"

namespace cardcage {

// For people.
struct PoolStatus {
  std::int64_t generation = 0;
  std::size_t slices = 0, devices = 0;
  std::vector<WithheldDevice> withheld;
  std::string rejection;  // what the API server refuses until the devices change; empty = nothing
};
struct PublisherStatus {
  bool in_sync = false;  // the API server holds what is wanted
  std::map<std::string, PoolStatus> pools;
  std::vector<std::string> disabled_gates;  // of the API server, that the devices need
  std::uint64_t creates = 0, updates = 0, deletes = 0;
  std::uint64_t corrections = 0;  // of what others did
  std::uint64_t failures = 0;
  std::string last_error;  // empty once it is over
  std::optional<std::chrono::system_clock::time_point> last_success;
};

struct PublisherOptions {
  std::string driver, node_name;
  // Tried first; the other one is tried when the server refuses it.
  CounterPlacement counters = CounterPlacement::kSeparate;
  Duration request_timeout = std::chrono::seconds(10);
  std::uint32_t jitter_seed = 1;  // should differ between nodes
};

// [core] Outlives run().
class SlicePublisher {
 public:
  using Pools = std::map<std::string, PoolContentPtr>;

  SlicePublisher(asio::io_context& core, Clock& clock, Cluster& cluster, PublisherOptions options);

  // What is wanted from now on, by pool name; the latest call wins. A pool without devices is published as one empty
  // slice, a pool that is missing here is deleted. Nothing is written before the first call.
  void set_pools(Pools pools);
  // Returns after stop().
  Task<void> run();
  void stop() { stopped_.wake(); }

  const PublisherStatus& status() const { return status_; }

 private:
  struct Pool {
    PoolContentPtr content;
    std::shared_ptr<const PoolView> view;
    CounterPlacement placement = CounterPlacement::kSeparate;
    bool tried_both_placements = false;
    Instant rejected_until = Instant::min();
    std::string rejection;
  };

  Task<void> reconcile();
  Task<void> watch();
  Task<void> gather();
  Task<Status> pass();
  Task<Status> look();
  std::map<std::string, SlicePlan> plan();
  Task<Status> carry_out(std::string pool, SlicePlan plan);

  void take(SliceEvent event);
  void watch_failed(const Error& error);
  void distrust_store();
  void accept(const Slice& sent, Slice stored);
  void learn(const Slice& sent, const Slice& stored);
  void forget_views();
  void reject(const std::string& name, Pool& pool, const Error& error);
  void hold_off();
  void count_correction();
  void report(const Status& done);
  void make_due();

  Clock& clock_;
  Cluster& cluster_;
  const PublisherOptions options_;

  std::optional<std::map<std::string, Pool>> wanted_;
  FeatureGates gates_;
  std::set<std::string> reported_gates_;
  std::string node_uid_;

  SliceStore store_;
  SliceWriter writer_;
  bool listed_ = false, watching_ = false;
  std::string version_;  // up to which the store has heard of everything

  Instant due_ = Instant::max();  // when to look whether there is something to write
  bool own_change_ = false;       // since the last pass something else changed than the slices
  std::uint64_t foreign_deletes_ = 0;
  int corrections_in_a_row_ = 0;
  Instant last_correction_ = Instant::min(), quiet_until_ = Instant::min();
  Backoff retry_, watch_retry_, damping_;
  Wakeup wake_, listed_wake_, distrusted_wake_, stopped_;
  PublisherStatus status_;
};

}  // namespace cardcage
