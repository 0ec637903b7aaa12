// Compares the devices that are handed out with the pods of the node: releases devices without a pod, and notices when
// the kubelet has lost a resource.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/core/backoff.h"
#include "host/core/folder_watch.h"
#include "host/core/task_group.h"
#include "host/core/wakeup.h"
#include "host/pods/device_checkpoint.h"
#include "host/pods/pod_holders.h"
#include "host/pods/pod_resources.h"
#include "host/pods/pods_watch.h"
#include "host/rpc/client_slot.h"

namespace cardcage {

struct PodReconcilerOptions {
  std::filesystem::path kubelet_root;    // has a folder pods/<UID> for each pod on the node
  std::filesystem::path device_plugins;  // has the kubelet's checkpoint
  std::uint32_t jitter_seed = 1;         // should differ between nodes
  // Returns whether the users of claims are needed; may be null.
  std::function<bool()> claims_wanted = {};
};

// For operators.
struct PodReconcilerStatus {
  PodResourcesView resources;
  std::vector<ResourceDevice> doubts;  // in no list any more, yet not released because the checkpoint names them
  std::uint64_t rounds = 0;            // lists judged
  std::string last_error;              // error of the last release or adoption; empty if that succeeded
};

// [core] Asks the kubelet only while something is served or handed out, or while the users of claims are wanted: soon
// after a hint, every 10 s while something is handed out or wanted, otherwise every minute.
class PodReconciler {
 public:
  // The references outlive the reconciler, which outlives run(). `pods` has the UIDs; its owner calls nudge() when a
  // pod is gone.
  PodReconciler(asio::io_context& core, Clock& clock, ClientSlot<KubeletClients>& clients, HandedOut& handed_out,
                const KubeletSockets& sockets, const PodsWatch& pods, PodReconcilerOptions options);

  // Returns after stop(), once the releases and adoptions under way have ended.
  Task<void> run();
  void stop() { stopped_.wake(); }
  // Called when an Allocate or a pod has ended, or the served devices have changed.
  void nudge();

  PodReconcilerStatus status() const;
  // As of the last list.
  const ClaimUsers& claim_users() const { return claim_users_; }

 private:
  struct Retry {
    Backoff pause;
    Instant next;
    void schedule(Instant now) { next = now + pause.next(); }
  };
  using Retries = std::map<ResourceDevice, Retry>;

  Task<void> reconcile_forever();
  Task<Status> reconcile_once();
  Task<void> find_lost_resources();
  Task<void> judge_absent(std::vector<AbsentDevice> absent);
  CheckpointVerdict verdict(const ResourceDevice& device, const Result<CheckpointHolders>& holders) const;
  void resolve_doubt(const ResourceDevice& device);
  bool try_begin(const ResourceDevice& device);
  Task<void> release(HandedOutDevice device);
  Task<void> adopt(PodHolding holding);
  void finish(const ResourceDevice& device, const Status& status, const char* done, const char* failed);
  void run_by(Instant when);

  Clock& clock_;
  HandedOut& handed_out_;
  const PodReconcilerOptions options_;
  PodResources resources_;
  const PodsWatch& pods_;
  FolderWatch checkpoint_watch_;
  PodHolders holders_;

  Instant due_ = Instant::min();          // time of the next list of pods
  Instant last_began_{};                  // start of the last list of pods
  Instant offered_due_ = Instant::min();  // time of the next check of the offered devices
  Backoff retry_;
  Wakeup wake_, stopped_;
  TaskGroup changes_;                       // releases and adoptions
  std::set<ResourceDevice> under_way_;      // being released or adopted
  bool others_wait_ = false;                // a waiting task needs one of these to end
  Retries failed_;                          // releases and adoptions to retry
  Retries doubts_;                          // devices whose list is to be sent again
  std::map<std::string, Instant> missing_;  // resources that the kubelet does not offer, by start of the absence
  ClaimUsers claim_users_;
  std::string last_error_;
  std::uint64_t rounds_ = 0;
};

}  // namespace cardcage
