// Releases claims that no kubelet will ever unprepare: its state was removed (kubeadm reset), or the node was joined
// again, so the kubelet does not know them, and the cluster does not have them any more.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>

#include "host/core/wakeup.h"
#include "host/ledger/ledger.h"
#include "host/model/cluster.h"

namespace cardcage {

// The interval of the comparisons, and the time between two checks that confirm each other. Tests are faster.
struct OrphanPace {
  Duration search = std::chrono::minutes(5), confirm = std::chrono::minutes(5);
};

// [core] Asks the API server only about claims that the kubelet's checkpoint does not name, so on a healthy node it
// sends no requests. A claim is released when two checks in a row find it orphaned; a check that cannot read the
// checkpoint or reach the API server proves nothing.
class OrphanedClaims {
 public:
  // Unprepares the claim of the driver as on a call of the kubelet, if `check` still allows it at the claim's turn.
  using Release = std::function<Task<Status>(std::string driver, ClaimRef claim, std::function<Status()> check)>;

  // The references outlive the object, which outlives run().
  OrphanedClaims(asio::io_context& core, Clock& clock, Cluster& cluster, const Ledger& ledger,
                 std::filesystem::path kubelet_root, Release release, OrphanPace pace = {});

  // Returns soon after stop().
  Task<void> run();
  void stop();

 private:
  Task<void> search();
  // False as long as the claim has a device of the record.
  Task<Result<bool>> is_forgotten(std::shared_ptr<const ClaimRecord> record);
  Status still_unknown(const std::string& uid) const;
  Task<void> release(std::shared_ptr<const ClaimRecord> record);

  Clock& clock_;
  Cluster& cluster_;
  const Ledger& ledger_;
  const std::filesystem::path kubelet_root_;
  const Release release_;
  const OrphanPace pace_;
  std::map<ClaimKey, Instant> suspects_;  // since when they are orphaned
  Wakeup wake_;
  bool stopping_ = false;
};

}  // namespace cardcage
