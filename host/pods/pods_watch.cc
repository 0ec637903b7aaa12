#include "host/pods/pods_watch.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <condition_variable>
#include <mutex>

#include "host/core/log.h"
#include "host/rpc/status.h"
#include "host/rpc/unix_socket.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

constexpr Duration kSocketPollInterval = 30s;
// A shorter stream counts as failed, so that the pauses grow if the kubelet ends streams at once.
constexpr Duration kGoodWatch = 5s;
// A node runs hundreds. Further pods are ignored, to bound the memory.
constexpr std::size_t kMaxPods = 10'000;
constexpr std::chrono::seconds kGetPodLimit{10};

bool is_over(const api::core::Pod& pod) {
  return pod.status().phase() == "Succeeded" || pod.status().phase() == "Failed";
}

}  // namespace

// One stream. Its reactions come on gRPC's threads and only post; the next event is read after the core has handled the
// last one. The core destroys it, because a channel must not be destroyed on a thread of gRPC.
class PodsWatch::Stream final : public grpc::ClientReadReactor<api::pods::WatchPodsEvent>,
                                public std::enable_shared_from_this<Stream> {
 public:
  // Both are called on the core, until close().
  struct Listener {
    std::function<void(const api::pods::WatchPodsEvent&)> event;
    std::function<void(const grpc::Status&)> end;
  };
  Stream(asio::io_context& core, std::shared_ptr<const KubeletClients> clients, Listener listener)
      : core_(core), clients_(std::move(clients)), listener_(std::move(listener)) {}

  // [core]
  void start() {
    clients_->pods->async()->WatchPods(&context_, &request_, this);
    AddHold();  // because reads begin outside of reactions
    StartRead(&event_);
    StartCall();
  }
  // [core] Cancels the call and blocks until gRPC has ended it, which it does at once.
  void close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    context_.TryCancel();
    if (!reading_) release_hold();
    done_.wait(lock, [this] { return is_done_; });
  }

 private:
  void OnReadDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    reading_ = false;
    if (!ok || closed_) return release_hold();
    asio::post(core_, [self = shared_from_this()] { self->deliver(); });
  }
  void OnDone(const grpc::Status& status) override {
    const std::lock_guard lock(mutex_);
    if (!closed_)
      asio::post(core_, [self = shared_from_this(), status] {
        if (!self->closed_) self->listener_.end(status);
      });
    is_done_ = true;
    done_.notify_all();
  }
  void deliver() {
    if (closed_) return;
    listener_.event(event_);
    const std::lock_guard lock(mutex_);
    reading_ = true;
    StartRead(&event_);
  }
  void release_hold() {
    if (!std::exchange(hold_released_, true)) RemoveHold();
  }

  asio::io_context& core_;
  const std::shared_ptr<const KubeletClients> clients_;
  const Listener listener_;
  grpc::ClientContext context_;
  api::pods::WatchPodsRequest request_;
  api::pods::WatchPodsEvent event_;
  std::mutex mutex_;  // orders close() and StartRead on the core with gRPC's reactions
  std::condition_variable done_;
  bool reading_ = true, closed_ = false, hold_released_ = false, is_done_ = false;
};

PodsWatch::PodsWatch(asio::io_context& core, Clock& clock, ClientSlot<KubeletClients>& clients,
                     std::filesystem::path socket, Listener listener, std::uint32_t jitter_seed)
    : core_(core),
      clock_(clock),
      clients_(clients),
      socket_(std::move(socket)),
      listener_(std::move(listener)),
      retry_(1s, 30s, jitter_seed),
      stopped_(core),
      calls_(core) {}

Task<void> PodsWatch::run() { co_await (watch_forever() || stopped_.wait()); }

Task<void> PodsWatch::watch_forever() {
  for (;;) {
    const auto socket = socket_identity(socket_);
    if (!socket || !socket->is_socket) {
      show(State::kAbsent, "");
      co_await clock_.sleep_for(kSocketPollInterval);
      continue;
    }
    const Instant begun = clock_.now();
    const Status end = co_await watch();
    if (!end && end.error().code == Code::kUnimplemented) {
      // Wait for another kubelet, which has another socket.
      show(State::kAbsent, end.error().message);
      while (socket_identity(socket_) == socket) co_await clock_.sleep_for(kSocketPollInterval);
      continue;
    }
    // A kubelet without the API leaves the socket of the one before it.
    if (is_served(socket_))
      show(State::kFailing, end ? "the kubelet ended the stream" : end.error().message);
    else
      show(State::kAbsent, "");
    if (clock_.now() - begun >= kGoodWatch) retry_.reset();
    co_await clock_.sleep_for(retry_.next());
  }
}

// Returns when the stream has ended.
Task<Status> PodsWatch::watch() {
  struct Opened {
    std::shared_ptr<Stream> stream;
    ~Opened() { stream->close(); }
  };
  show(State::kSyncing, "");
  listing_ = {};
  const auto set = clients_.current();
  Wakeup ended(core_);
  grpc::Status status;
  const Opened opened{std::make_shared<Stream>(
      core_, set,
      Stream::Listener{.event = [this](const api::pods::WatchPodsEvent& event) { handle(event); },
                       .end =
                           [&](const grpc::Status& end) {
                             status = end;
                             ended.wake();
                           }})};
  opened.stream->start();
  co_await ended.wait();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) clients_.replace(set);
  co_return to_status(status);
}

void PodsWatch::handle(const api::pods::WatchPodsEvent& event) {
  const bool syncing = view_.state == State::kSyncing;
  if (event.type() == api::pods::INITIAL_SYNC_COMPLETE) {
    adopt_list();
    show(State::kWatching, "");
    return listener_.gone();
  }
  api::core::Pod pod;
  if (!pod.ParseFromString(event.pod()) || pod.metadata().uid().empty()) {
    log_limited(LogLevel::kWarn, "pods api", "ignored an unreadable pod of the kubelet's Pods API");
    return;
  }
  Pods& pods = syncing ? listing_ : pods_;
  bool over = false;
  if (event.type() == api::pods::DELETED)
    over = remove(pods, pod);
  else if (event.type() == api::pods::ADDED || event.type() == api::pods::MODIFIED)
    over = put(pods, pod);
  tell_claims(pod);
  view_.pods = pods_.ended.size();
  if (over && !syncing) listener_.gone();
}

void PodsWatch::tell_claims(const api::core::Pod& pod) const {
  const auto& about = pod.metadata();
  // The event of a deletion has neither claims nor a phase.
  const bool coming = pod.status().phase() == "Pending" && !about.has_deletiontimestamp();
  if (!coming && pod.status().phase() != "Running") return listener_.left(about.uid());
  if (!coming || pod.spec().resourceclaims().empty()) return;
  ComingPod with_claims{about.uid(), about.namespace_(), about.name(), {}, 0};
  for (const auto& claim : pod.spec().resourceclaims()) {
    if (claim.resourceclaimname().empty())
      ++with_claims.templates;
    else
      with_claims.claims.push_back(claim.resourceclaimname());
  }
  listener_.coming(std::move(with_claims));
}

// The stream lacks the end of a pod that ended between two streams.
void PodsWatch::adopt_list() {
  const Pods before = std::exchange(pods_, std::exchange(listing_, {}));
  for (const auto& [uid, ended] : before.ended)
    if (!pods_.ended.contains(uid)) listener_.left(uid);
}

Task<bool> PodsWatch::has_pod(std::string uid, Instant deadline) {
  using namespace api::pods;
  GetPodRequest request;
  request.set_poduid(uid);
  const auto begin = [](const KubeletClients& set, auto... call) { set.pods->async()->GetPod(call...); };
  const auto done =
      calls_.begin<GetPodRequest, GetPodResponse>(clients_.current(), std::move(request), kGetPodLimit, begin);
  const auto response = co_await done.wait_until(clock_, deadline);
  api::core::Pod pod;
  co_return response && *response&& pod.ParseFromString((*response)->pod()) && pod.metadata().uid() == uid &&
      !pod.metadata().has_deletiontimestamp() && !is_over(pod);
}

// Returns whether the pod has just ended.
bool PodsWatch::put(Pods& pods, const api::core::Pod& pod) {
  const auto& about = pod.metadata();
  if (std::max(pods.ended.size(), pods.uids.size()) >= kMaxPods && !pods.ended.contains(about.uid())) return false;
  const bool ended = is_over(pod);
  pods.uids[{about.namespace_(), about.name()}] = about.uid();
  return !std::exchange(pods.ended[about.uid()], ended) && ended;
}

bool PodsWatch::remove(Pods& pods, const api::core::Pod& pod) {
  const auto& about = pod.metadata();
  // The name may belong to another pod already.
  const auto named = pods.uids.find({about.namespace_(), about.name()});
  if (named != pods.uids.end() && named->second == about.uid()) pods.uids.erase(named);
  return pods.ended.erase(about.uid()) > 0;
}

void PodsWatch::show(State state, std::string error) {
  const State before = std::exchange(view_.state, state);
  view_.error = std::move(error);
  view_.pods = pods_.ended.size();
  if (state == State::kWatching && before != state)
    log(LogLevel::kInfo, "watching the kubelet's pods", {{"pods", view_.pods}});
  if (state == State::kFailing)
    log_limited(LogLevel::kDebug, "pods watch", "the watch of the kubelet's pods has ended", {{"error", view_.error}});
}

std::string PodsWatch::uid_of(const std::string& name_space, const std::string& pod) const {
  const auto found = pods_.uids.find({name_space, pod});
  return found == pods_.uids.end() ? "" : found->second;
}

bool PodsWatch::has_ended(const std::string& uid) const {
  const auto found = pods_.ended.find(uid);
  return found != pods_.ended.end() && found->second;
}

}  // namespace cardcage
