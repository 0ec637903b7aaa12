// Releases claims that nobody will ever unprepare: the kubelet's state was removed (kubeadm reset), or the node was
// joined anew, so the kubelet does not know them, and the cluster does not have them any more.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>

#include "host/core/wakeup.h"
#include "host/ledger/ledger.h"
#include "host/model/cluster.h"

namespace cardcage {

// [core] Asks the API server only about claims that the kubelet's checkpoint does not name, so on a healthy node it
// asks nothing. A claim is released when two looks in a row, kConfirmAfter apart, find it orphaned; a look that cannot
// read the checkpoint or reach the API server proves nothing.
class OrphanedClaims {
 public:
  static constexpr std::chrono::minutes kLookInterval{5}, kConfirmAfter{5};

  // Unprepares the claim of the driver as the kubelet would ask for it.
  using Release = std::function<Task<Status>(std::string driver, ClaimRef claim)>;

  // The references outlive the object, which outlives run().
  OrphanedClaims(asio::io_context& core, Clock& clock, Cluster& cluster, const Ledger& ledger,
                 std::filesystem::path kubelet_root, Release release);

  // Returns soon after stop().
  Task<void> run();
  void stop();

 private:
  Task<void> look();
  // False as long as the claim has devices of the driver.
  Task<Result<bool>> is_forgotten(std::shared_ptr<const ClaimRecord> record);
  Task<void> release(std::shared_ptr<const ClaimRecord> record);

  Clock& clock_;
  Cluster& cluster_;
  const Ledger& ledger_;
  const std::filesystem::path kubelet_root_;
  const Release release_;
  std::map<ClaimKey, Instant> suspects_;  // since when they are orphaned
  Wakeup wake_;
  bool stopping_ = false;
};

}  // namespace cardcage
