// All names that the daemon serves to the kubelet, and the pods and claims that use them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/claim/cdi_keeper.h"
#include "host/core/task_group.h"
#include "host/daemon/foundation.h"
#include "host/metrics/metrics.h"
#include "host/pods/orphaned_claims.h"
#include "host/pods/pod_reconciler.h"
#include "host/pods/pods_watch.h"
#include "host/serving/resources.h"

namespace cardcage {

// [core]
class NodeServing {
 public:
  // All references outlive it. `claim_users_wanted` returns whether metrics name the pods that use claims.
  NodeServing(Foundation& daemon, const DeviceTable& table, CallMeter& meter, ClaimHost& host, OrphanPace pace,
              std::function<bool()> claim_users_wanted);

  ClaimStatuses& statuses() { return statuses_; }
  const ClaimReader& claims() const { return claims_; }
  Drivers& drivers() { return drivers_; }
  Resources& resources() { return resources_; }
  PodReconciler& pods() { return pods_; }
  const PodsWatch& pods_watch() const { return pods_watch_; }
  Wakeup& pods_wanted() { return pods_wanted_; }

  // Starts everything that works without a call of the kubelet; `loops` end with stop_loops().
  void run(TaskGroup& loops);
  void stop_loops();
  // Follows the configuration.
  void configure(const std::set<std::string>& affected);
  // Follows the table.
  void refresh(const Supervisor& supervisor, SupervisorEvent event);
  // Stops names that must stop, and starts others. Repeat it while untidy().
  Task<void> tidy();
  bool untidy() const { return drivers_.untidy() || resources_.untidy(); }

 private:
  Task<void> refit(std::vector<ClaimKey> claims);
  Task<void> reconcile_pods();
  std::unique_ptr<OrphanedClaims> make_orphan_search(OrphanPace pace);
  void remove_left_sockets() const;

  Foundation& daemon_;
  const std::function<bool()> claim_users_wanted_;
  const KubeletSockets sockets_;
  const std::uint32_t seed_;
  Wakeup pods_wanted_;
  bool stopping_ = false;
  CdiKeeper cdi_keeper_;
  ClaimStatuses statuses_;
  ClientSlot<KubeletClients> kubelet_;
  ClaimReader claims_;
  PodsWatch pods_watch_;
  const ServingContext context_;
  Drivers drivers_;
  Resources resources_;
  PodReconciler pods_;
  const std::unique_ptr<OrphanedClaims> orphans_;  // null without an API server
};

}  // namespace cardcage
