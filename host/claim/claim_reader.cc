#include "host/claim/claim_reader.h"

#include <algorithm>

#include "host/core/log.h"
#include "host/core/task_group.h"

namespace cardcage {
namespace {

// Long enough for a busy API server. A prepare that waits has its own deadline.
constexpr Duration kReadLimit = std::chrono::seconds(10);
// The kubelet responds in a fraction of a millisecond. If it does not, a GET is the better choice.
constexpr Duration kAskLimit = std::chrono::seconds(1);
// The right to read pods is optional, and may be granted while the daemon runs.
constexpr Duration kFirstRightPause = std::chrono::minutes(1), kLongestRightPause = std::chrono::hours(1);

}  // namespace

ClaimReader::ClaimReader(asio::io_context& core, Clock& clock, Cluster& cluster, HasPod has_pod)
    : core_(core),
      clock_(clock),
      cluster_(cluster),
      has_pod_(std::move(has_pod)),
      right_attempts_(kFirstRightPause, kLongestRightPause, "pods") {}

void ClaimReader::expect(ComingPod pod) {
  if (pods_.size() >= kMaxPods || !pods_.try_emplace(pod.uid).second) return;
  for (const std::string& claim : pod.claims) add(pod.uid, {pod.name_space, claim});
  queue_.push_back(std::move(pod));
  begin_next();
}

// The first pod that expects a shared claim starts its reading. Null for the others, and if a caller has come first.
std::shared_ptr<ClaimReader::Reading> ClaimReader::add(const std::string& pod_uid, const Name& name) {
  const auto pod = pods_.find(pod_uid);
  if (pod == pods_.end() || readings_.contains(name)) return nullptr;
  if (requested_->contains(name) || served(pod_uid).contains(name)) return nullptr;
  pod->second.push_back(name);
  auto reading = std::make_shared<Reading>();
  reading->pod_uid = pod_uid;
  readings_[name] = reading;
  return reading;
}

void ClaimReader::forget(const std::string& pod_uid) {
  if (served_.erase(pod_uid) > 0) std::erase(served_pods_, pod_uid);
  const auto pod = pods_.extract(pod_uid);
  if (pod.empty()) return;
  for (const Name& name : pod.mapped()) readings_.erase(name);
  std::erase_if(queue_, [&](const ComingPod& queued) { return queued.uid == pod_uid; });
}

void ClaimReader::begin_next() {
  while (!queue_.empty() && under_way_ < kMaxUnderWay) {
    ComingPod pod = std::move(queue_.front());
    queue_.pop_front();
    ++under_way_;
    spawn(core_, read_all(std::move(pod)));
  }
}

Task<void> ClaimReader::read_all(ComingPod pod) {
  TaskGroup reads(core_);
  const auto begin = [&](const Name& name, const std::shared_ptr<Reading>& reading) {
    reading->begun = true;
    reads.spawn(read_early(name, reading));
  };
  for (const std::string& claim : pod.claims) {
    const Name name(pod.name_space, claim);
    const auto found = readings_.find(name);
    if (found != readings_.end() && found->second->pod_uid == pod.uid) begin(name, found->second);
  }
  if (served(pod.uid).size() < pod.claims.size() + pod.templates && pod.templates > 0) {
    const std::vector<std::string> made = co_await names_of_made_claims(pod);
    for (const std::string& claim : made) {
      const Name name(pod.name_space, claim);
      if (const auto reading = add(pod.uid, name)) begin(name, reading);
    }
  }
  co_await reads.join(clock_, Instant::max());
  --under_way_;
  begin_next();
}

// Empty if the daemon may not read pods, or cannot find the names out now.
Task<std::vector<std::string>> ClaimReader::names_of_made_claims(const ComingPod& pod) {
  if (clock_.now() < no_pods_before_) co_return std::vector<std::string>{};
  auto made = co_await cluster_.get_pod_claims(pod.name_space, pod.name, clock_.now() + kReadLimit);
  if (made) {
    right_attempts_.reset();
    co_return made->pod_uid == pod.uid ? std::move(made->names) : std::vector<std::string>{};
  }
  if (made.error().code == Code::kPermissionDenied) no_pods_before_ = clock_.now() + right_attempts_.next();
  log_limited(LogLevel::kDebug, "pod claims", "cannot read the claims of a pod before they are prepared",
              {{"pod", fmt::format("{}/{}", pod.name_space, pod.name)}, {"error", made.error().message}});
  co_return std::vector<std::string>{};
}

Task<void> ClaimReader::read_early(Name name, std::shared_ptr<Reading> reading) {
  auto claim = co_await cluster_.get_claim(name.first, name.second, clock_.now() + kReadLimit);
  const auto reserved = [&] {
    return std::ranges::find(claim->reserved_for, reading->pod_uid) != claim->reserved_for.end();
  };
  if (claim && claim->allocated && reserved()) reading->claim = std::move(*claim);
  reading->ended = true;
  for (const OneShot<bool>& waiter : std::exchange(reading->waiting, {})) waiter.set(true);
}

Task<Result<Claim>> ClaimReader::read(ClaimRef ref, Instant deadline) {
  std::optional<Claim> early = co_await early_claim(ref, deadline);
  if (early) {
    ++early_;
    co_return *std::move(early);
  }
  ++late_;
  const Name name(ref.name_space, ref.name);
  requested_->insert(name);
  // A cancelled coroutine ends by an exception, perhaps after the reader.
  const std::shared_ptr<void> counted(nullptr, [all = requested_, name](void*) { all->erase(all->find(name)); });
  auto claim = co_await cluster_.get_claim(ref.name_space, ref.name, deadline);
  if (claim && claim->allocated) note_served(name, claim->reserved_for);
  co_return claim;
}

void ClaimReader::note_served(const Name& name, const std::vector<std::string>& pods) {
  for (const std::string& pod : pods) {
    const auto [entry, is_new] = served_.try_emplace(pod);
    entry->second.insert(name);
    if (is_new) served_pods_.push_back(pod);
  }
  for (; served_.size() > kMaxServed; served_pods_.pop_front()) served_.erase(served_pods_.front());
}

const std::set<ClaimReader::Name>& ClaimReader::served(const std::string& pod_uid) const {
  static const std::set<Name> kNone;
  const auto found = served_.find(pod_uid);
  return found == served_.end() ? kNone : found->second;
}

// Asks the kubelet last: its statement must hold after the caller's request came in.
Task<std::optional<Claim>> ClaimReader::early_claim(const ClaimRef& ref, Instant deadline) {
  const auto found = readings_.find({ref.name_space, ref.name});
  if (found == readings_.end()) co_return std::nullopt;
  const std::shared_ptr<Reading> reading = found->second;
  if (!reading->begun) {
    readings_.erase(found);  // the caller reads it now
    co_return std::nullopt;
  }
  if (!reading->ended) {
    const OneShot<bool> ended(core_);
    reading->waiting.push_back(ended);
    co_await ended.wait_until(clock_, deadline);
  }
  if (!reading->claim || reading->claim->ref.uid != ref.uid) co_return std::nullopt;
  const bool has_pod = co_await has_pod_(reading->pod_uid, std::min(deadline, clock_.now() + kAskLimit));
  if (has_pod) co_return reading->claim;
  forget(reading->pod_uid);
  co_return std::nullopt;
}

}  // namespace cardcage
