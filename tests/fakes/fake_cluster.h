// A cluster in memory: claims, nodes, Events, and ResourceSlices with resource versions, watches, and faults on
// command. It stands in for ApiServer (host/apiserver/api_server.h).
//
// Everything runs on the core and nothing sleeps: a call takes effect after one turn of the core and returns after
// another, so that watch events may overtake responses, as with a real API server.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "host/core/wakeup.h"
#include "host/model/cluster.h"

namespace cardcage {

class FakeCluster final : public Cluster {
 public:
  enum class Verb {
    kGetClaim,
    kGetPod,
    kGetNode,
    kList,
    kListPools,
    kCreate,
    kUpdate,
    kDelete,
    kWatch,
    kEvent,
    kClaimStatus,
    kFollow
  };
  struct Call {
    Verb verb;
    std::string subject;  // "namespace/name" of a claim or its status, the generateName of a create, otherwise the name
    Instant at;
  };

  FakeCluster(asio::io_context& core, Clock& clock) : core_(core), clock_(clock), contact_(core, 1) {}

  // Changes by other clients. A claim is stored under the namespace and name in its ref.
  void put_claim(Claim claim);
  void remove_claim(const std::string& name_space, const std::string& name);
  // Followers are not told of the claim any more, as if it had lost its label.
  void hide_claim(const std::string& name_space, const std::string& name);
  void show_claim(const std::string& name_space, const std::string& name);
  void put_pod(const std::string& name_space, const std::string& name, PodClaims claims) {
    pods_[{name_space, name}] = std::move(claims);
  }
  void put_node(const std::string& name, const std::string& uid, std::vector<std::string> features = {}) {
    nodes_[name] = {uid, std::move(features)};
  }
  void remove_node(const std::string& name) { nodes_.erase(name); }
  // Creates or replaces a slice and returns it as stored. Generates a name if it has none.
  Slice put_slice(Slice slice);
  void remove_slice(const std::string& name);
  // Deletes all slices, as a starting kubelet does.
  void wipe_slices();

  // Faults. The next `count` calls of `verb` fail without effect; counts of one verb queue up.
  void fail_next(Verb verb, int count, Error error);
  void forget_failures() { failures_.clear(); }
  // The next `count` calls of `verb` take effect, but their response is lost: they return kUnavailable.
  void lose_answers(Verb verb, int count) { lost_answers_[verb] += count; }
  // Changes every slice on its way into the store, as disabled feature gates and webhooks do.
  void on_store(std::function<void(Slice&)> change) { on_store_ = std::move(change); }
  // No call is served while paused; calls whose deadline passes return kUnavailable. The cluster is not
  // away: it only takes too long.
  void pause() { paused_ = true; }
  void resume();
  // Ends all watches with this status.
  void end_watches(Status how = {});
  // Ends everything that follows claims.
  void end_following(Status how);
  // Lists claims again to everything that follows them, as after a change of labels: what is gone is not reported.
  void list_claims_again();
  // Forgets the history of events; watches from an older version get kOutOfRange.
  void compact() { compacted_ = version_; }

  // For tests to inspect.
  const std::map<std::string, Slice>& slices() const { return slices_; }
  // The statement of a driver, or "driver/part", about the devices of a claim.
  std::vector<DeviceStatus> claim_status(const std::string& name_space, const std::string& name,
                                         const std::string& driver) const;
  const std::vector<NodeEvent>& node_events() const { return node_events_; }  // each write
  const std::vector<Call>& calls() const { return calls_; }
  std::size_t count(Verb verb) const;
  std::size_t writes() const { return count(Verb::kCreate) + count(Verb::kUpdate) + count(Verb::kDelete); }
  void forget_calls() { calls_.clear(); }
  int most_concurrent_writes() const { return most_concurrent_writes_; }
  std::size_t watchers() const { return watchers_.size(); }
  std::size_t followers() const { return followers_.size(); }  // followers of claims

  Task<Result<Claim>> get_claim(std::string name_space, std::string name, Instant deadline) override;
  Task<Result<PodClaims>> get_pod_claims(std::string name_space, std::string pod, Instant deadline) override;
  Task<Result<ClusterNode>> get_node(std::string node_name, Instant deadline) override;
  Task<Status> apply_claim_status(ClaimRef claim, StatusOwner owner, std::vector<DeviceStatus> devices,
                                  Instant deadline) override;
  Task<Status> follow_claims(std::function<void(ClaimEvent)> on_event) override;
  Task<Result<SliceList>> list_slices(std::string driver, std::string node_name, Instant deadline) override;
  Task<Result<std::vector<PublishedPool>>> list_pools(std::string driver, Instant deadline) override;
  std::size_t parallel_writes() const override { return 8; }
  Task<Result<Slice>> create_slice(Slice slice, Instant deadline) override;
  Task<Result<Slice>> update_slice(Slice slice, Instant deadline) override;
  Task<Status> delete_slice(Slice slice, Instant deadline) override;
  Task<Status> watch_slices(std::string driver, std::string node_name, std::string& version,
                            std::function<void(SliceEvent)> on_event) override;
  Contact& contact() override { return contact_; }
  Task<Status> write_event(NodeEvent event, Instant deadline) override;

 private:
  struct Watcher {
    explicit Watcher(asio::io_context& core) : wakeup(core) {}
    Wakeup wakeup;
    std::optional<Status> end;
    bool list_again = false;
  };
  struct Event {
    std::uint64_t version;
    SliceEvent what;
  };

  // Before a call: waits while paused, then returns the injected failure, if any.
  Task<Status> arrive(Verb verb, std::string subject, Instant deadline);
  // After a call: false if its response is lost.
  Task<bool> deliver(Verb verb);
  Task<Result<Slice>> write(Verb verb, Slice slice, Instant deadline);
  Result<Slice> store(Verb verb, Slice slice);
  Slice keep(Slice slice);
  void drop(std::map<std::string, Slice>::iterator entry);
  void publish(bool deleted, const Slice& slice);

  using Claims = std::map<std::pair<std::string, std::string>, Claim>;
  Claims reported() const;

  asio::io_context& core_;
  Clock& clock_;
  Contact contact_;
  Claims claims_;
  std::set<Claims::key_type> hidden_;
  std::map<std::pair<std::string, std::string>, PodClaims> pods_;
  std::map<std::string, ClusterNode> nodes_;
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<DeviceStatus>>
      statuses_;  // by namespace, name and driver
  std::map<std::string, Slice> slices_;
  std::vector<Event> events_;
  std::vector<NodeEvent> node_events_;
  std::uint64_t version_ = 100, compacted_ = 0;
  std::uint64_t generated_ = 0;
  bool paused_ = false;
  std::map<Verb, std::vector<Error>> failures_;
  std::map<Verb, int> lost_answers_;
  std::function<void(Slice&)> on_store_;
  std::vector<Call> calls_;
  int concurrent_writes_ = 0, most_concurrent_writes_ = 0;
  std::list<Watcher> watchers_, followers_;
  std::list<Wakeup> waiting_;  // calls that wait for resume()
};

}  // namespace cardcage
