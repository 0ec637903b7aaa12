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

#include "host/core/clock.h"
#include "host/core/rate_limit.h"
#include "host/core/wakeup.h"
#include "host/model/cluster_backoff.h"
#include "host/slices/correction_pace.h"
#include "host/slices/pool_neighbours.h"
#include "host/slices/slice_mirror.h"
#include "host/slices/slice_writer.h"
#include "host/slices/wanted_pools.h"

namespace cardcage {

// Status reports for people.
struct PublisherStatus {
  bool in_sync = false;  // the API server holds exactly the wanted slices, and no pool is null
  std::map<std::string, PoolStatus> pools;
  std::vector<std::string> disabled_gates;  // feature gates of the API server that the devices need
  std::uint64_t corrections = 0;            // corrections of changes by other clients
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
  using Pools = WantedPools::Contents;

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
  Task<void> reconcile();
  Task<Status> reconcile_once();
  Task<void> wait_to_retry();
  Task<void> wait_for_end_of_burst();
  Task<Status> list_if_needed();
  std::map<std::string, SlicePlan> plan();
  Task<Status> execute(std::string pool, SlicePlan plan);
  Task<void> look_at_new_kubelets();

  void handle_foreign_change(SliceStore::Change change);
  void handle_watch_failure();
  void read_node_again();
  void store_response(const Slice& sent, Slice stored);
  void learn_gates(const Slice& sent, const Slice& stored);
  void publish_anew();
  void reject(const std::string& pool, const Error& error);
  void postpone_correction();
  void postpone_publication();
  void report(const Status& done);
  void report_gates();
  void schedule_now();

  Clock& clock_;
  Cluster& cluster_;
  const PublisherOptions options_;

  WantedPools wanted_;
  std::set<std::string> reported_gates_;
  std::string node_uid_;

  PoolNeighbours neighbours_;
  SliceMirror mirror_;
  SliceWriter writer_;

  Instant due_ = Instant::max();  // time of the next reconciliation
  bool own_change_ = false;       // a change other than of the stored slices since the last reconciliation
  std::uint64_t foreign_deletes_ = 0;
  CorrectionPace corrections_;
  RateLimit publications_;     // limits publications of own changes
  std::uint64_t changes_ = 0;  // changes of the wanted pools since the last publication
  ClusterBackoff retry_;
  Wakeup wake_, wiped_wake_, stopped_;
  PublisherStatus status_;
};

}  // namespace cardcage
