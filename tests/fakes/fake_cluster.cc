#include "tests/fakes/fake_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace cardcage {
namespace {

Task<void> next_turn() { co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable); }

std::uint64_t number_of(const std::string& version) {
  std::uint64_t number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

// Keeps an entry in a list while a coroutine is in scope, however it leaves.
template <class T>
class Entry {
 public:
  template <class... Args>
  explicit Entry(std::list<T>& list, Args&&... args)
      : list_(list), entry_(list.emplace(list.end(), std::forward<Args>(args)...)) {}
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  ~Entry() { list_.erase(entry_); }
  T* operator->() { return &*entry_; }

 private:
  std::list<T>& list_;
  typename std::list<T>::iterator entry_;
};

}  // namespace

void FakeCluster::put_claim(Claim claim) {
  const auto key = std::pair(claim.ref.name_space, claim.ref.name);
  claims_[key] = std::move(claim);
  for (Watcher& follower : followers_) follower.wakeup.wake();
}

void FakeCluster::hide_claim(const std::string& name_space, const std::string& name) {
  hidden_.insert({name_space, name});
  for (Watcher& follower : followers_) follower.wakeup.wake();
}

void FakeCluster::show_claim(const std::string& name_space, const std::string& name) {
  hidden_.erase({name_space, name});
  for (Watcher& follower : followers_) follower.wakeup.wake();
}

FakeCluster::Claims FakeCluster::reported() const {
  Claims claims = claims_;
  for (const auto& key : hidden_) claims.erase(key);
  return claims;
}

void FakeCluster::remove_claim(const std::string& name_space, const std::string& name) {
  claims_.erase({name_space, name});
  for (Watcher& follower : followers_) follower.wakeup.wake();
  std::erase_if(statuses_, [&](const auto& stated) {
    return std::get<0>(stated.first) == name_space && std::get<1>(stated.first) == name;
  });
}

Slice FakeCluster::put_slice(Slice slice) {
  if (slice.name.empty()) slice.name = fmt::format("{}{:05d}", slice.generate_name, ++generated_);
  const auto old = slices_.find(slice.name);
  if (old != slices_.end()) slice.uid = old->second.uid;
  return keep(std::move(slice));
}

void FakeCluster::remove_slice(const std::string& name) {
  if (const auto entry = slices_.find(name); entry != slices_.end()) drop(entry);
}

void FakeCluster::wipe_slices() {
  while (!slices_.empty()) drop(slices_.begin());
}

void FakeCluster::fail_next(Verb verb, int count, Error error) {
  failures_[verb].insert(failures_[verb].end(), static_cast<std::size_t>(count), error);
}

void FakeCluster::resume() {
  paused_ = false;
  for (Wakeup& waiting : waiting_) waiting.wake();
}

void FakeCluster::end_watches(Status how) {
  for (Watcher& watcher : watchers_) {
    watcher.end = how;
    watcher.wakeup.wake();
  }
}

void FakeCluster::end_following(Status how) {
  for (Watcher& follower : followers_) {
    follower.end = how;
    follower.wakeup.wake();
  }
}

void FakeCluster::list_claims_again() {
  for (Watcher& follower : followers_) {
    follower.list_again = true;
    follower.wakeup.wake();
  }
}

std::size_t FakeCluster::count(Verb verb) const {
  return static_cast<std::size_t>(std::ranges::count(calls_, verb, &Call::verb));
}

Task<Result<Claim>> FakeCluster::get_claim(std::string name_space, std::string name, Instant deadline) {
  const Status arrived = co_await arrive(Verb::kGetClaim, name_space + "/" + name, deadline);
  if (!arrived) co_return std::unexpected(arrived.error());
  Result<Claim> result = fail(Code::kNotFound, "claim '{}/{}' does not exist", name_space, name);
  if (const auto claim = claims_.find({name_space, name}); claim != claims_.end()) result = claim->second;
  if (!co_await deliver(Verb::kGetClaim)) co_return fail(Code::kUnavailable, "the response was lost");
  co_return result;
}

Task<Result<PodClaims>> FakeCluster::get_pod_claims(std::string name_space, std::string pod, Instant deadline) {
  const Status arrived = co_await arrive(Verb::kGetPod, name_space + "/" + pod, deadline);
  if (!arrived) co_return std::unexpected(arrived.error());
  Result<PodClaims> result = fail(Code::kNotFound, "pod '{}/{}' does not exist", name_space, pod);
  if (const auto found = pods_.find({name_space, pod}); found != pods_.end()) result = found->second;
  if (!co_await deliver(Verb::kGetPod)) co_return fail(Code::kUnavailable, "the response was lost");
  co_return result;
}

Task<Status> FakeCluster::apply_claim_status(ClaimRef claim, StatusOwner owner, std::vector<DeviceStatus> devices,
                                             Instant deadline) {
  const Status arrived = co_await arrive(Verb::kClaimStatus, claim.name_space + "/" + claim.name, deadline);
  if (!arrived) co_return arrived;
  Status result;
  const auto stored = claims_.find({claim.name_space, claim.name});
  if (stored == claims_.end())
    result = fail(Code::kNotFound, "claim '{}/{}' does not exist", claim.name_space, claim.name);
  else if (stored->second.ref.uid != claim.uid)
    result = fail(Code::kAborted, "claim '{}/{}' was replaced", claim.name_space, claim.name);
  else
    statuses_[{claim.name_space, claim.name, owner.manager()}] = std::move(devices);
  if (!co_await deliver(Verb::kClaimStatus)) co_return fail(Code::kUnavailable, "the response was lost");
  co_return result;
}

std::vector<DeviceStatus> FakeCluster::claim_status(const std::string& name_space, const std::string& name,
                                                    const std::string& driver) const {
  const auto stated = statuses_.find({name_space, name, driver});
  return stated != statuses_.end() ? stated->second : std::vector<DeviceStatus>();
}

Task<Status> FakeCluster::follow_claims(std::function<void(ClaimEvent)> on_event) {
  const Status arrived = co_await arrive(Verb::kFollow, "", Instant::max());
  if (!arrived) co_return arrived;
  Entry<Watcher> self(followers_, core_);
  Claims known;
  self->list_again = true;
  while (true) {
    if (std::exchange(self->list_again, false)) {
      known = reported();
      on_event({ClaimEvent::Kind::kListing, {}});
      for (const auto& [key, claim] : known) on_event({ClaimEvent::Kind::kThere, claim});
      on_event({ClaimEvent::Kind::kListed, {}});
    }
    co_await self->wakeup.wait();
    if (self->end) co_return *self->end;
    if (self->list_again) continue;
    const auto before = std::exchange(known, reported());
    for (const auto& [key, claim] : before)
      if (const auto now = known.find(key); now == known.end() || now->second.ref.uid != claim.ref.uid)
        on_event({ClaimEvent::Kind::kGone, claim});
    for (const auto& [key, claim] : known)
      if (const auto old = before.find(key); old == before.end() || old->second != claim)
        on_event({ClaimEvent::Kind::kThere, claim});
  }
}

Task<Result<ClusterNode>> FakeCluster::get_node(std::string node_name, Instant deadline) {
  const Status arrived = co_await arrive(Verb::kGetNode, node_name, deadline);
  if (!arrived) co_return std::unexpected(arrived.error());
  Result<ClusterNode> result = fail(Code::kNotFound, "node '{}' does not exist", node_name);
  if (const auto node = nodes_.find(node_name); node != nodes_.end()) result = node->second;
  if (!co_await deliver(Verb::kGetNode)) co_return fail(Code::kUnavailable, "the response was lost");
  co_return result;
}

Task<Result<SliceList>> FakeCluster::list_slices(std::string driver, std::string node_name, Instant deadline) {
  const Status arrived = co_await arrive(Verb::kList, driver, deadline);
  if (!arrived) co_return std::unexpected(arrived.error());
  SliceList list;
  list.resource_version = std::to_string(version_);
  for (const auto& [name, slice] : slices_)
    if (slice.driver == driver && slice.node_name == node_name) list.slices.push_back(slice);
  if (!co_await deliver(Verb::kList)) co_return fail(Code::kUnavailable, "the response was lost");
  co_return list;
}

Task<Result<std::vector<PublishedPool>>> FakeCluster::list_pools(std::string driver, Instant deadline) {
  const Status arrived = co_await arrive(Verb::kListPools, driver, deadline);
  if (!arrived) co_return std::unexpected(arrived.error());
  std::vector<PublishedPool> pools;
  for (const auto& [name, slice] : slices_)
    if (slice.driver == driver) pools.push_back({slice.node_name, slice.pool.name});
  if (!co_await deliver(Verb::kListPools)) co_return fail(Code::kUnavailable, "the response was lost");
  co_return pools;
}

Task<Result<Slice>> FakeCluster::create_slice(Slice slice, Instant deadline) {
  co_return co_await write(Verb::kCreate, std::move(slice), deadline);
}

Task<Result<Slice>> FakeCluster::update_slice(Slice slice, Instant deadline) {
  co_return co_await write(Verb::kUpdate, std::move(slice), deadline);
}

Task<Status> FakeCluster::delete_slice(Slice slice, Instant deadline) {
  const Result<Slice> result = co_await write(Verb::kDelete, std::move(slice), deadline);
  if (!result) co_return std::unexpected(result.error());
  co_return Status{};
}

Task<Result<Slice>> FakeCluster::write(Verb verb, Slice slice, Instant deadline) {
  struct Running {
    int& count;
    ~Running() { --count; }
  } running{++concurrent_writes_};
  most_concurrent_writes_ = std::max(most_concurrent_writes_, concurrent_writes_);
  const Status arrived = co_await arrive(verb, verb == Verb::kCreate ? slice.generate_name : slice.name, deadline);
  if (!arrived) co_return std::unexpected(arrived.error());
  const Result<Slice> result = store(verb, std::move(slice));
  if (!co_await deliver(verb)) co_return fail(Code::kUnavailable, "the response was lost");
  co_return result;
}

Result<Slice> FakeCluster::store(Verb verb, Slice slice) {
  if (verb == Verb::kCreate) {
    if (!slice.name.empty() || !slice.resource_version.empty())
      return fail(Code::kInvalidArgument, "a new slice has no name and no resourceVersion, but a generateName");
    // The server keeps at most 58 bytes of the generateName and adds 5 characters.
    slice.name = fmt::format("{}{:05d}", slice.generate_name.substr(0, 58), ++generated_);
    return keep(std::move(slice));
  }
  const auto old = slices_.find(slice.name);
  if (old == slices_.end() && verb == Verb::kDelete) return slice;
  if (old == slices_.end()) return fail(Code::kNotFound, "resourceslice '{}' does not exist", slice.name);
  if (old->second.resource_version != slice.resource_version || old->second.uid != slice.uid)
    return fail(Code::kAborted, "resourceslice '{}' has been modified", slice.name);
  if (verb == Verb::kDelete) {
    drop(old);
    return slice;
  }
  if (old->second.driver != slice.driver || old->second.node_name != slice.node_name ||
      old->second.pool.name != slice.pool.name)
    return fail(Code::kInvalidArgument, "driver, nodeName and pool.name of resourceslice '{}' are immutable",
                slice.name);
  return keep(std::move(slice));
}

Slice FakeCluster::keep(Slice slice) {
  if (on_store_) on_store_(slice);
  if (slice.uid.empty()) slice.uid = fmt::format("uid-{}", version_ + 1);
  for (SliceDevice& device : slice.devices)
    for (DeviceTaint& taint : device.taints)
      if (taint.time_added.empty()) taint.time_added = fmt::format("2026-01-01T00:00:{:02d}Z", version_ % 60);
  slice.resource_version = std::to_string(++version_);
  slices_[slice.name] = slice;
  publish(false, slice);
  return slice;
}

void FakeCluster::drop(std::map<std::string, Slice>::iterator entry) {
  Slice slice = std::move(entry->second);
  slices_.erase(entry);
  slice.resource_version = std::to_string(++version_);
  publish(true, slice);
}

void FakeCluster::publish(bool deleted, const Slice& slice) {
  events_.push_back({version_, {deleted, slice}});
  for (Watcher& watcher : watchers_) watcher.wakeup.wake();
}

Task<Status> FakeCluster::watch_slices(std::string driver, std::string node_name, std::string& version,
                                       std::function<void(SliceEvent)> on_event) {
  const Status arrived = co_await arrive(Verb::kWatch, driver, Instant::max());
  if (!arrived) co_return arrived;
  Entry<Watcher> self(watchers_, core_);
  while (true) {
    if (self->end) co_return *self->end;
    if (number_of(version) < compacted_) co_return fail(Code::kOutOfRange, "too old resource version: {}", version);
    const auto first = std::ranges::upper_bound(events_, number_of(version), {}, &Event::version);
    for (auto index = static_cast<std::size_t>(first - events_.begin()); index < events_.size(); ++index) {
      const Event event = events_[index];  // a copy: on_event may write
      version = std::to_string(event.version);
      if (event.what.slice.driver == driver && event.what.slice.node_name == node_name) on_event(event.what);
    }
    co_await self->wakeup.wait();
  }
}

Task<Status> FakeCluster::write_event(NodeEvent event, Instant deadline) {
  const Status arrived = co_await arrive(Verb::kEvent, event.name, deadline);
  if (!arrived) co_return arrived;
  node_events_.push_back(std::move(event));
  if (!co_await deliver(Verb::kEvent)) co_return fail(Code::kUnavailable, "the response was lost");
  co_return Status{};
}

Task<Status> FakeCluster::arrive(Verb verb, std::string subject, Instant deadline) {
  calls_.push_back({verb, std::move(subject), clock_.now()});
  co_await next_turn();
  if (paused_) {
    Entry<Wakeup> waiting(waiting_, core_);
    while (paused_ && clock_.now() < deadline) co_await waiting->wait_until(clock_, deadline);
    if (paused_) co_return fail(Code::kUnavailable, "the API server did not respond in time");
  }
  std::vector<Error>& failures = failures_[verb];
  if (failures.empty()) {
    contact_.made();
    co_return Status{};
  }
  const Error error = failures.front();
  if (error.code == Code::kUnavailable) contact_.lost();
  failures.erase(failures.begin());
  co_return std::unexpected(error);
}

Task<bool> FakeCluster::deliver(Verb verb) {
  co_await next_turn();
  int& lost = lost_answers_[verb];
  if (lost == 0) co_return true;
  --lost;
  co_return false;
}

}  // namespace cardcage
