// Keeps the record of what is handed out in step with the pods of the node, and notices when the kubelet has lost a
// resource.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/core/backoff.h"
#include "host/core/folder_watch.h"
#include "host/core/wakeup.h"
#include "host/pods/device_checkpoint.h"
#include "host/pods/pod_holders.h"
#include "host/pods/pod_resources.h"
#include "host/pods/pods_watch.h"
#include "host/rpc/client_slot.h"

namespace cardcage {

struct PodReconcilerOptions {
  std::filesystem::path kubelet_root;    // its pods/ tells which pods are left
  std::filesystem::path device_plugins;  // holds the kubelet's checkpoint
  std::uint32_t jitter_seed = 1;         // should differ between nodes
};

// What operators see of it.
struct PodReconcilerStatus {
  PodResourcesView resources;
  PodsWatchView pods;
  std::string checkpoint_error;        // why it could not be asked the last time it was; empty if it could
  std::vector<ResourceDevice> doubts;  // in no list any more, yet not released: the checkpoint names them
  std::uint64_t rounds = 0;            // lists that were judged
  std::string last_error;              // of a release or an adoption; empty once it is over
};

// [core] The kubelet is asked only while something is served or handed out: soon after a hint, every 10 s while
// something is handed out, else every minute.
class PodReconciler {
 public:
  // All three outlive this; it outlives run().
  PodReconciler(asio::io_context& core, Clock& clock, ClientSlot<KubeletClients>& clients, HandedOut& handed_out,
                const KubeletSockets& sockets, PodReconcilerOptions options);

  // Returns after stop(), when the releases and adoptions that are under way have ended.
  Task<void> run();
  void stop() { stopped_.wake(); }
  // An Allocate has ended, or what is served has changed.
  void nudge();

  PodReconcilerStatus status() const;

 private:
  struct Retry {
    Backoff pause;
    Instant not_before;
  };
  struct Doubt {
    Backoff pause;
    Instant resend_at;
  };

  Task<void> keep();
  Task<Status> round();
  Task<void> look_for_lost();
  Task<void> consider(std::vector<AbsentDevice> absent);
  CheckpointWord word_on(const ResourceDevice& device, const CheckpointHolders& holders) const;
  void doubt(const ResourceDevice& device);
  bool may_begin(const ResourceDevice& device);
  Task<void> release(HandedOutDevice device);
  Task<void> adopt(PodHolding holding);
  void ended(const ResourceDevice& device, const Status& status, const char* done, const char* failed);
  void due_at(Instant when);

  asio::io_context& core_;
  Clock& clock_;
  HandedOut& handed_out_;
  const PodReconcilerOptions options_;
  PodResources resources_;
  PodsWatch pods_;
  FolderWatch checkpoint_watch_;
  PodHolders holders_;

  Instant due_ = Instant::min();          // when to ask next
  Instant last_began_{};                  // of a list
  Instant offered_due_ = Instant::min();  // when to ask next what the kubelet offers
  Backoff retry_;
  Wakeup wake_, stopped_, idle_;
  std::set<ResourceDevice> under_way_;      // being released or adopted
  std::map<ResourceDevice, Retry> failed_;  // releases and adoptions
  std::map<ResourceDevice, Doubt> doubts_;
  std::map<std::string, Instant> missing_;  // resources that the kubelet does not offer, since when
  std::string checkpoint_error_, last_error_;
  std::uint64_t rounds_ = 0;
};

}  // namespace cardcage
