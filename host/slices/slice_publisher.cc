#include "host/slices/slice_publisher.h"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <algorithm>
#include <utility>

#include "host/core/log.h"
#include "host/model/retry_pace.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

// Events come in bursts (a wipe is one DELETED event per slice). A reconcile waits for a gap of kBurstGap, but not for
// long.
constexpr Duration kBurstGap = 5ms;
constexpr int kMaxBurstGaps = 10;
// Publications at once for a module whose devices change all the time; further ones are limited to a few.
constexpr int kPublicationBurst = 20;
constexpr Duration kPublicationInterval = 5s;
// A starting kubelet updates its Node within a minute.
constexpr int kChecksOfNewKubelet = 6;
constexpr Duration kCheckPause = 20s;

// The scheduler sends no pod with a device that skips calls to a node whose kubelet does not declare this feature.
constexpr std::string_view kSkips = "DRAOptionalNodeOperations";

// Shares equal attributes. They are most of a slice, and the next plan compares them.
void share_attributes(const Slice& sent, Slice& stored) {
  for (std::size_t i = 0; i < stored.devices.size(); ++i) stored.devices[i].attributes = sent.devices[i].attributes;
}

}  // namespace

SlicePublisher::SlicePublisher(asio::io_context& core, Clock& clock, Cluster& cluster, PublisherOptions options)
    : clock_(clock),
      cluster_(cluster),
      options_(std::move(options)),
      wanted_(options_.counters, options_.jitter_seed + 3),
      neighbours_(core, clock, cluster,
                  {.driver = options_.driver,
                   .node_name = options_.node_name,
                   .request_timeout = options_.request_timeout,
                   .jitter_seed = options_.jitter_seed + 3}),
      mirror_(core, clock, cluster,
              {.driver = options_.driver,
               .node_name = options_.node_name,
               .request_timeout = options_.request_timeout,
               .jitter_seed = options_.jitter_seed + 1},
              {.changed = [this](SliceStore::Change change) { handle_foreign_change(change); },
               .watch_ended = [this] { read_node_again(); },
               .watch_failed = [this] { handle_watch_failure(); }}),
      writer_(clock, cluster, options_.request_timeout,
              {.deleting = [this](const Slice& slice) { mirror_.store().remove(slice.name); },
               .not_deleted = [this](const Slice& slice) { mirror_.store().put(slice); },
               .stored = [this](const Slice& sent, Slice stored) { store_response(sent, std::move(stored)); },
               .lost_track = [this] { mirror_.invalidate(); }}),
      corrections_(options_.jitter_seed + 2),
      publications_(kPublicationBurst, kPublicationInterval),
      retry_(100ms, 30s, options_.jitter_seed),
      wake_(core),
      wiped_wake_(core),
      stopped_(core) {}

void SlicePublisher::set_pools(Pools pools) {
  std::vector<std::string> names;
  for (const auto& [name, content] : pools) names.push_back(name);
  wanted_.set(std::move(pools));
  neighbours_.set_pools(std::move(names));
  ++changes_;
  publish_anew();
}

Task<void> SlicePublisher::run() {
  co_await (reconcile() || mirror_.watch() || look_at_new_kubelets() || neighbours_.run() || stopped_.wait());
}

void SlicePublisher::schedule_now() {
  due_ = std::min(due_, clock_.now());
  status_.in_sync = false;
  wake_.wake();
}

Task<void> SlicePublisher::reconcile() {
  while (true) {
    while (clock_.now() < due_) co_await wake_.wait_until(clock_, due_);
    co_await wait_for_end_of_burst();
    due_ = Instant::max();
    const bool own_change = own_change_;
    const Status done = co_await reconcile_once();
    report(done);
    if (done) {
      retry_.reset();
      continue;
    }
    own_change_ = own_change_ || own_change;
    co_await wait_to_retry();
    schedule_now();
  }
}

Task<void> SlicePublisher::wait_to_retry() {
  const bool list_first = !mirror_.listed();
  Duration pause = retry_.next(cluster_);
  if (cluster_.contact().is_away() && !list_first) pause = std::min<Duration>(pause, kPauseWhileAway);
  const Duration spread = list_first ? kSpreadOfLists : kSpreadOfWrites;
  co_await cluster_.contact().wait_to_retry(clock_, clock_.now() + pause, spread);
}

Task<void> SlicePublisher::wait_for_end_of_burst() {
  for (int i = 0; i < kMaxBurstGaps; ++i) {
    const std::uint64_t before = foreign_deletes_;
    co_await clock_.sleep_for(kBurstGap);
    if (foreign_deletes_ == before) co_return;
  }
}

// Compares the stored slices with the wanted ones once, and writes the differences.
Task<Status> SlicePublisher::reconcile_once() {
  if (own_change_ && clock_.now() < publications_.next()) {
    postpone_publication();
    co_return Status{};
  }
  bool own_change = std::exchange(own_change_, false);
  if (wanted_.make_views()) co_await let_others_run();
  const Status listed = co_await list_if_needed();
  if (!listed) co_return listed;
  std::map<std::string, SlicePlan> plans = plan();
  if (plans.empty()) co_return Status{};
  own_change = own_change || wanted_.is_retry(plans);
  if (!own_change && clock_.now() < corrections_.next()) {
    postpone_correction();
    co_return Status{};
  }
  if (own_change) changes_ = 0;
  for (auto& [name, next] : plans) {
    const Status done = co_await execute(name, std::move(next));
    if (!done) co_return within(done.error(), "pool '{}' of driver '{}'", name, options_.driver);
  }
  if (own_change) {
    publications_.take(clock_.now());
  } else {
    ++status_.corrections;
    corrections_.note_correction(clock_.now());
  }
  schedule_now();  // checks that nothing is left to write
  co_return Status{};
}

// Executes the plan. If the server rejects it as invalid, only this pool is put aside: the call succeeds, and other
// pools continue.
Task<Status> SlicePublisher::execute(std::string pool, SlicePlan plan) {
  const PoolContentPtr content = wanted_.content(pool);
  log(LogLevel::kInfo, "publishing slices",
      {{"driver", options_.driver},
       {"pool", pool},
       {"generation", plan.generation},
       {"slices", plan.slices},
       {"writes", plan.writes()}});
  const Status done = co_await writer_.execute(std::move(plan));
  if (done || done.error().code != Code::kInvalidArgument) co_return done;
  // If the devices have changed meanwhile, the rejection does not apply to the new ones.
  if (!wanted_.contains(pool)) co_return done;
  if (wanted_.content(pool) == content) reject(pool, done.error());
  co_return Status{};
}

// Reads the stored slices and the Node that owns them, unless they are known.
Task<Status> SlicePublisher::list_if_needed() {
  if (!mirror_.listed()) {
    const Status listed = co_await mirror_.list();
    if (!listed) co_return listed;
    for (const auto& [pool, slices] : mirror_.store().by_pool())
      for (const Slice* slice : slices) learn_gates(*slice, *slice);  // stored counters prove that their gate is on
    if (wanted_.skip_calls()) node_uid_.clear();
  }
  if (node_uid_.empty()) {
    auto node = co_await cluster_.get_node(options_.node_name, clock_.now() + options_.request_timeout);
    if (!node) co_return within(node.error(), "cannot read node '{}', the owner of the slices", options_.node_name);
    node_uid_ = std::move(node->uid);
    status_.node_runtime = std::move(node->runtime);
    const bool skips = std::ranges::find(node->declared_features, kSkips) != node->declared_features.end();
    if (wanted_.change_gates([&](FeatureGates& gates) { gates.kubelet_skips = skips; })) publish_anew();
  }
  co_return Status{};
}

// Returns the plans of the pools that need writes, by pool.
std::map<std::string, SlicePlan> SlicePublisher::plan() {
  const SliceOwner owner{options_.driver, options_.node_name, node_uid_};
  WantedPools::Plans plans = wanted_.plan(owner, mirror_.store().by_pool(), clock_.now());
  status_.pools = std::move(plans.pools);
  status_.disabled_gates = wanted_.gates().off();
  due_ = std::min(due_, plans.retry);
  return std::move(plans.needed);
}

void SlicePublisher::handle_foreign_change(SliceStore::Change change) {
  if (change == SliceStore::Change::kDeleted) {
    ++foreign_deletes_;
    node_uid_.clear();  // maybe the Node was replaced, and the garbage collector deletes the slices of the old one
    wiped_wake_.wake();
  }
  schedule_now();
}

void SlicePublisher::store_response(const Slice& sent, Slice stored) {
  learn_gates(sent, stored);
  const bool same = is_same_content(sent, stored);
  if (same) share_attributes(sent, stored);
  if (same || own_change_) {
    mirror_.store().put(std::move(stored));
    return;
  }
  log_limited(LogLevel::kWarn, "slice-altered/" + options_.driver,
              "the cluster stored a slice that differs from what was sent; an admission webhook may change it",
              {{"driver", options_.driver}, {"slice", stored.name}});
  mirror_.store().put_altered(sent, std::move(stored));
}

void SlicePublisher::learn_gates(const Slice& sent, const Slice& stored) {
  if (wanted_.change_gates([&](FeatureGates& gates) { gates.learn(sent, stored); })) publish_anew();
}

// Publishes a change of the daemon itself, which waits less than the correction of what other clients changed.
void SlicePublisher::publish_anew() {
  own_change_ = true;
  schedule_now();
}

void SlicePublisher::reject(const std::string& pool, const Error& error) {
  const WantedPools::Refusal refusal = wanted_.reject(pool, error.message, clock_.now());
  if (refusal.other_form) publish_anew();
  if (!refusal.put_aside) return;
  status_.last_error = fmt::format("the API server refuses pool '{}', which is tried again: {}", pool, error.message);
  if (refusal.is_new) log(LogLevel::kError, status_.last_error, {{"driver", options_.driver}});
}

void SlicePublisher::postpone_correction() {
  due_ = corrections_.next();
  status_.last_error = fmt::format(
      "another client keeps changing the slices of driver '{}' on node '{}'; corrections are slowed down, check for a "
      "second publisher",
      options_.driver, options_.node_name);
  log_limited(LogLevel::kWarn, "slices-disputed/" + options_.driver, status_.last_error);
}

void SlicePublisher::postpone_publication() {
  due_ = publications_.next();
  log_limited(LogLevel::kWarn, "slices-restless/" + options_.driver,
              "the devices of a driver change all the time; their slices follow once in a while",
              {{"driver", options_.driver}, {"changes", changes_}});
}

void SlicePublisher::report(const Status& done) {
  if (!done) {
    ++status_.failures;
    status_.last_error = done.error().message;
    log_limited(LogLevel::kWarn, "slices-failed/" + options_.driver, done.error().message);
  } else if (due_ == Instant::max()) {
    report_gates();
    status_.in_sync = wanted_.all_known();
    status_.last_error.clear();
    status_.last_success = clock_.wall();
  }
}

// Reports disabled gates once everything else is published.
void SlicePublisher::report_gates() {
  for (const std::string& gate : wanted_.gates().off())
    if (reported_gates_.insert(gate).second)
      log(LogLevel::kWarn, "the cluster does not take all fields of devices; enable its feature gates to publish them",
          {{"gate", gate}, {"driver", options_.driver}});
}

// A kubelet of another release wipes the slices some time before its Node shows its features.
Task<void> SlicePublisher::look_at_new_kubelets() {
  while (true) {
    co_await wiped_wake_.wait();
    for (int i = 0; i < kChecksOfNewKubelet; ++i) {
      co_await clock_.sleep_for(kCheckPause);
      read_node_again();
    }
  }
}

// Reads the Node again if its features matter.
void SlicePublisher::read_node_again() {
  if (!wanted_.skip_calls()) return;
  node_uid_.clear();
  schedule_now();
}

void SlicePublisher::handle_watch_failure() {
  if (!mirror_.listed()) schedule_now();
  // The server may have been upgraded or have other gates.
  if (wanted_.change_gates([](FeatureGates& gates) { gates.forget_off(); })) publish_anew();
}

}  // namespace cardcage
