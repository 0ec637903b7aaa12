// Reads ResourceClaims for prepares: the claims of pods that the kubelet is about to start before it asks to prepare
// them, the others on request.
//
// A claim that is allocated and reserved for a pod keeps its allocation until that pod has ended or is gone. So a claim
// that was read early is as good as one that is read now while the kubelet still has that pod
// (docs/decisions/0022-claims-are-read-before-they-are-asked-for.md).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/core/backoff.h"
#include "host/core/clock.h"
#include "host/model/cluster.h"

namespace cardcage {

// A pod that came to the node and has not started yet.
struct ComingPod {
  std::string uid, name_space, name;
  std::vector<std::string> claims;  // claims that it names
  std::size_t templates = 0;        // the number of its other claims, whose names only its status tells
};

// [core] At most kMaxPods are known at a time, and the claims of kMaxUnderWay of them are read; claims of other pods
// are read on request. The owner destroys it after the core has stopped.
class ClaimReader {
 public:
  static constexpr std::size_t kMaxPods = 1000, kMaxUnderWay = 8;
  // The kubelet's default limit is 110 pods.
  static constexpr std::size_t kMaxServed = 256;
  // True only if the kubelet certainly has this pod, and the pod has not ended.
  using HasPod = std::function<Task<bool>(std::string pod_uid, Instant deadline)>;

  // All outlive this.
  ClaimReader(asio::io_context& core, Clock& clock, Cluster& cluster, HasPod has_pod);

  // Begins to read the claims of the pod, unless it did already, or a caller reads them or has read them.
  void expect(ComingPod pod);
  // The pod has ended, or is gone.
  void forget(const std::string& pod_uid);

  // Like Cluster::get_claim(). An early claim has the UID of `ref`.
  Task<Result<Claim>> read(ClaimRef ref, Instant deadline);

  // For metrics: the numbers of claims that were read before the request, and after it.
  std::uint64_t early() const { return early_; }
  std::uint64_t late() const { return late_; }

 private:
  using Name = std::pair<std::string, std::string>;  // namespace, name
  // The reading of one claim for one pod. Callers hold it beyond the pod.
  struct Reading {
    std::string pod_uid;
    bool begun = false, ended = false;
    std::optional<Claim> claim;  // if it is allocated, and reserved for the pod
    std::vector<OneShot<bool>> waiting;
  };

  void begin_next();
  Task<void> read_all(ComingPod pod);
  Task<std::vector<std::string>> names_of_made_claims(const ComingPod& pod);
  Task<void> read_early(Name name, std::shared_ptr<Reading> reading);
  Task<std::optional<Claim>> early_claim(const ClaimRef& ref, Instant deadline);
  std::shared_ptr<Reading> add(const std::string& pod_uid, const Name& name);
  void note_served(const Name& name, const std::vector<std::string>& pods);
  const std::set<Name>& served(const std::string& pod_uid) const;

  asio::io_context& core_;
  Clock& clock_;
  Cluster& cluster_;
  const HasPod has_pod_;
  std::map<Name, std::shared_ptr<Reading>> readings_;
  std::map<std::string, std::vector<Name>> pods_;  // readings that belong to a pod, by UID
  // Reads on request that are under way.
  const std::shared_ptr<std::multiset<Name>> requested_ = std::make_shared<std::multiset<Name>>();
  // By pod: claims that were read on request. The kubelet may report a pod after it asked to prepare its claims. At
  // most kMaxServed pods, the newest.
  std::map<std::string, std::set<Name>> served_;
  std::deque<std::string> served_pods_;  // the oldest first
  std::deque<ComingPod> queue_;
  std::size_t under_way_ = 0;
  Instant no_pods_before_ = Instant::min();  // the next attempt to read a pod, while that is not allowed
  Backoff right_attempts_;
  std::uint64_t early_ = 0, late_ = 0;
};

}  // namespace cardcage
