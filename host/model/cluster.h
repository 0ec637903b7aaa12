// The cluster as Cardcage uses it: reads claims and its Node, owns ResourceSlices, states its devices in the status of
// claims, and writes Events on its Node.
//
// ApiServer talks to kube-apiserver; EmbeddedNode keeps the same objects in a folder, without a cluster.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/core/contact.h"
#include "host/model/claim.h"
#include "host/model/claim_status.h"
#include "host/model/node_event.h"
#include "host/model/slice.h"

namespace cardcage {

struct ClusterNode {
  std::string uid;
  std::vector<std::string> declared_features;  // feature gates of the kubelet (KEP-5328)
  std::string runtime = {};                    // status.nodeInfo.containerRuntimeVersion: "containerd://1.7.27"
  friend bool operator==(const ClusterNode&, const ClusterNode&) = default;
};

struct SliceList {
  std::vector<Slice> slices;
  std::string resource_version;
};

// A slice of a driver on any node.
struct PublishedPool {
  std::string node_name, pool;
};

// The claims made for a pod, from its status.
struct PodClaims {
  std::string pod_uid;
  std::vector<std::string> names;
};

// A slice in its current state, or a deleted one.
struct SliceEvent {
  bool deleted = false;
  Slice slice;
};

// A claim in its current state, or a deleted one. kListing and kListed have no claim: a list of all claims begins, and
// is complete.
struct ClaimEvent {
  enum class Kind { kThere, kGone, kListing, kListed } kind = Kind::kThere;
  Claim claim;
};

// A field manager of device statuses in a claim. Two parts of one driver are separate managers: neither removes what
// the other stated.
struct StatusOwner {
  StatusOwner(std::string of_driver, std::string which_part = "")
      : driver(std::move(of_driver)), part(std::move(which_part)) {}
  // The name of the field manager.
  std::string manager() const { return part.empty() ? driver : driver + "/" + part; }
  std::string driver, part;
};

// [core] Errors: kNotFound (404), kAlreadyExists (409 on create), kAborted (409 conflict on update or delete),
// kOutOfRange (410 gone, 504 for a version that the server has not reached, or a watch that was silent for too long:
// list again), kInvalidArgument (400, 422, or denied by an admission policy: retrying does not help), kPermissionDenied
// (403), kUnauthenticated (401), kResourceExhausted (429 after its retries), kUnavailable (no response), kUnimplemented
// (the server does not serve resource.k8s.io, or not this part of it), kCancelled.
class Cluster {
 public:
  virtual ~Cluster() = default;

  virtual Task<Result<Claim>> get_claim(std::string name_space, std::string name, Instant deadline) = 0;
  virtual Task<Result<PodClaims>> get_pod_claims(std::string name_space, std::string pod, Instant deadline) = 0;
  virtual Task<Result<ClusterNode>> get_node(std::string node_name, Instant deadline) = 0;
  // Replaces all that `owner` states in the claim's status.devices with `devices`; an empty list removes it. Entries of
  // other owners stay. Fails with kAborted if the claim was replaced (has another UID). Safe to repeat.
  virtual Task<Status> apply_claim_status(ClaimRef claim, StatusOwner owner, std::vector<DeviceStatus> devices,
                                          Instant deadline) = 0;
  // Reports the claims that may wait for devices of the daemon's node, and perhaps all others of the cluster, then each
  // change; from time to time all of them again, up to kListed. Runs until it fails or the surrounding coroutine is
  // cancelled; then call it again. A claim that is not reported may still exist: get_claim() tells.
  virtual Task<Status> follow_claims(std::function<void(ClaimEvent)> on_event) = 0;

  virtual Task<Result<SliceList>> list_slices(std::string driver, std::string node_name, Instant deadline) = 0;
  // Lists the pools of all nodes, one entry for each slice, from the server's cache, which may lag behind a write.
  // Costs more than list_slices().
  virtual Task<Result<std::vector<PublishedPool>>> list_pools(std::string driver, Instant deadline) = 0;
  // The number of slices to write at the same time.
  virtual std::size_t parallel_writes() const = 0;
  // Both return the stored object. Compare it with what was sent: a disabled feature gate drops fields silently.
  virtual Task<Result<Slice>> create_slice(Slice slice, Instant deadline) = 0;
  virtual Task<Result<Slice>> update_slice(Slice slice, Instant deadline) = 0;
  // Deletes only the object with this uid and resource_version. Succeeds if it does not exist any more.
  virtual Task<Status> delete_slice(Slice slice, Instant deadline) = 0;
  // Runs until the stream ends (ok), fails, or the surrounding coroutine is cancelled. Every event and bookmark
  // advances `version`, so that the next watch continues where this one ended.
  virtual Task<Status> watch_slices(std::string driver, std::string node_name, std::string& version,
                                    std::function<void(SliceEvent)> on_event) = 0;

  // Tells callers when to try a call again: the contact is lost while calls do not reach the cluster.
  virtual Contact& contact() = 0;

  // Creates the Event, or updates it if its count says that it has happened before. Safe to repeat after kUnavailable.
  virtual Task<Status> write_event(NodeEvent event, Instant deadline) = 0;
};

}  // namespace cardcage
