// Keeps the ResourceSlices of one driver on this node in the wanted state.
//
// The publisher owns all slices of its driver and node. It deletes slices of unwanted pools, restores deleted slices (a
// starting kubelet wipes them) at once, and corrects slices that other clients change, more and more slowly if the
// changes continue. Slices stay when it stops: the kubelet wipes them 30 s after the driver's sockets are gone.
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
#include "host/core/rate_limit.h"
#include "host/core/wakeup.h"
#include "host/model/cluster.h"
#include "host/slices/pool_neighbours.h"
#include "host/slices/slice_plan.h"
#include "host/slices/slice_store.h"
#include "host/slices/slice_view.h"
#include "host/slices/slice_writer.h"

namespace cardcage {

// Status reports for people.
struct PoolStatus {
  std::int64_t generation = 0;
  std::size_t slices = 0, devices = 0;
  std::vector<WithheldDevice> withheld;
  std::string rejection;  // why the API server refused the pool; empty = not refused
};
struct PublisherStatus {
  bool in_sync = false;  // the API server holds exactly the wanted slices, and no pool is null
  std::map<std::string, PoolStatus> pools;
  std::vector<std::string> disabled_gates;  // feature gates of the API server that the devices need
  std::uint64_t creates = 0, updates = 0, deletes = 0;
  std::uint64_t corrections = 0;  // corrections of changes by other clients
  std::uint64_t failures = 0;
  std::string last_error;  // empty once the error is resolved
  std::optional<std::chrono::system_clock::time_point> last_success;
  std::string node_runtime;  // ClusterNode::runtime; empty before the node was read
};

struct PublisherOptions {
  std::string driver, node_name;
  // The placement to try first; if the server refuses it, the other one is tried.
  CounterPlacement counters = CounterPlacement::kSeparate;
  Duration request_timeout = std::chrono::seconds(10);
  std::uint32_t jitter_seed = 1;  // should differ between nodes
};

// [core] Must outlive run().
class SlicePublisher {
 public:
  using Pools = std::map<std::string, PoolContentPtr>;

  SlicePublisher(asio::io_context& core, Clock& clock, Cluster& cluster, PublisherOptions options);

  // Sets the wanted pools by name; the latest call wins. A pool without devices is published as one empty slice, a null
  // pool stays as it is stored, and a pool that is missing here is deleted. Nothing is written before the first call.
  void set_pools(Pools pools);
  // Returns after stop().
  Task<void> run();
  void stop() { stopped_.wake(); }

  const PublisherStatus& status() const { return status_; }
  // By pool: another node that publishes slices of it, too.
  const std::map<std::string, std::string>& shared_pools() const { return neighbours_.found(); }

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

  Task<void> reconcile();
  Task<Status> reconcile_once();
  Task<void> wait_for_end_of_burst();
  Task<Status> list_if_needed();
  bool make_views();
  std::map<std::string, SlicePlan> plan();
  bool is_retry(const std::map<std::string, SlicePlan>& plans) const;
  Task<Status> execute(std::string pool, SlicePlan plan);
  Task<void> watch();
  Task<void> look_at_new_kubelets();

  void handle_event(SliceEvent event);
  void handle_watch_failure(const Error& error);
  void read_node_again();
  void invalidate_store();
  void store_response(const Slice& sent, Slice stored);
  void learn_gates(const Slice& sent, const Slice& stored);
  void reset_views();
  void reject(const std::string& name, Pool& pool, const Error& error);
  void postpone_correction();
  void postpone_publication();
  void count_correction();
  void report(const Status& done);
  void report_gates();
  void schedule_now();

  Clock& clock_;
  Cluster& cluster_;
  const PublisherOptions options_;

  std::optional<std::map<std::string, Pool>> wanted_;
  FeatureGates gates_;
  std::set<std::string> reported_gates_;
  std::string node_uid_;

  PoolNeighbours neighbours_;
  SliceStore store_;
  SliceWriter writer_;
  bool listed_ = false, watching_ = false;
  std::string version_;  // the store includes every event up to this version

  Instant due_ = Instant::max();  // time of the next reconciliation
  bool own_change_ = false;       // a change other than of the stored slices since the last reconciliation
  std::uint64_t foreign_deletes_ = 0;
  int corrections_in_a_row_ = 0;
  Instant last_correction_ = Instant::min(), no_correction_before_ = Instant::min();
  RateLimit publications_;     // limits publications of own changes
  std::uint64_t changes_ = 0;  // changes of the wanted pools since the last publication
  Backoff retry_, watch_retry_, correction_pause_;
  Wakeup wake_, listed_wake_, invalidated_wake_, wiped_wake_, stopped_;
  PublisherStatus status_;
};

}  // namespace cardcage
