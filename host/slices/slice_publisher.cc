#include "host/slices/slice_publisher.h"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <algorithm>
#include <utility>

#include "host/core/log.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

// Events come in bursts (a wipe is one DELETED event per slice). A reconcile waits for a gap of kBurstGap, but not for
// long.
constexpr Duration kBurstGap = 5ms;
constexpr int kMaxBurstGaps = 10;
// Corrections made at once in a row (after a kubelet started, or an operator edited slices). Further ones are slowed
// down until no slice has been changed by others for kDisputeEnd.
constexpr int kFreeCorrections = 20;
constexpr Duration kDisputeEnd = 5min;
// Publications at once for a module whose devices change all the time; further ones are limited to a few.
constexpr int kPublicationBurst = 20;
constexpr Duration kPublicationInterval = 5s;
// A policy or a webhook may temporarily reject a valid pool, and a later release of the server may accept more.
constexpr Duration kFirstRejected = 1s, kLongestRejected = 5min;
// A shorter watch counts as failed, so that a server that ends watches at once is not called in a tight loop.
constexpr Duration kMinWatchTime = 5s;
// A starting kubelet updates its Node within a minute.
constexpr int kLooksAtNewKubelet = 6;
constexpr Duration kLookPause = 20s;

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
      neighbours_(core, clock, cluster,
                  {.driver = options_.driver,
                   .node_name = options_.node_name,
                   .request_timeout = options_.request_timeout,
                   .jitter_seed = options_.jitter_seed + 3}),
      writer_(clock, cluster, options_.request_timeout,
              {.deleting =
                   [this](const Slice& slice) {
                     ++status_.deletes;
                     store_.remove(slice.name);
                   },
               .not_deleted = [this](const Slice& slice) { store_.put(slice); },
               .updated =
                   [this](const Slice& sent, Slice stored) {
                     ++status_.updates;
                     store_response(sent, std::move(stored));
                   },
               .created =
                   [this](const Slice& sent, Slice stored) {
                     ++status_.creates;
                     store_response(sent, std::move(stored));
                   }}),
      publications_(kPublicationBurst, kPublicationInterval),
      retry_(100ms, 30s, options_.jitter_seed),
      watch_retry_(100ms, 30s, options_.jitter_seed + 1),
      correction_pause_(1s, 60s, options_.jitter_seed + 2),
      wake_(core),
      listed_wake_(core),
      invalidated_wake_(core),
      wiped_wake_(core),
      stopped_(core) {}

void SlicePublisher::set_pools(Pools pools) {
  std::map<std::string, Pool> next;
  std::vector<std::string> names;
  for (auto& [name, content] : pools) {
    names.push_back(name);
    Pool& pool = next[name];
    pool.placement = options_.counters;
    if (wanted_) {
      if (const auto old = wanted_->find(name); old != wanted_->end()) {
        if (old->second.content == content) pool = old->second;
        pool.placement = old->second.placement;
      }
    }
    pool.content = std::move(content);
  }
  wanted_ = std::move(next);
  neighbours_.set_pools(std::move(names));
  own_change_ = true;
  ++changes_;
  schedule_now();
}

Task<void> SlicePublisher::run() {
  co_await (reconcile() || watch() || look_at_new_kubelets() || neighbours_.run() || stopped_.wait());
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
    // List again, since only the server knows what it stored. An overloaded server stored nothing.
    if (done.error().code != Code::kResourceExhausted) invalidate_store();
    own_change_ = own_change_ || own_change;
    co_await clock_.sleep_for(retry_.next());
    schedule_now();
  }
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
  if (make_views()) co_await let_others_run();
  const Status listed = co_await list_if_needed();
  if (!listed) co_return listed;
  std::map<std::string, SlicePlan> plans = plan();
  if (plans.empty()) co_return Status{};
  own_change = own_change || is_retry(plans);
  if (!own_change && clock_.now() < no_correction_before_) {
    postpone_correction();
    co_return Status{};
  }
  if (own_change) {
    publications_.take(clock_.now());
    changes_ = 0;
  }
  for (auto& [name, next] : plans) {
    const Status done = co_await execute(name, std::move(next));
    if (!done) co_return within(done.error(), "pool '{}' of driver '{}'", name, options_.driver);
  }
  if (!own_change) count_correction();
  schedule_now();  // checks that nothing is left to write
  co_return Status{};
}

// Returns whether the plans retry a rejected pool: its slices differ because of the rejection, not because of others.
bool SlicePublisher::is_retry(const std::map<std::string, SlicePlan>& plans) const {
  return std::ranges::any_of(plans, [this](const auto& plan) {
    const auto pool = wanted_->find(plan.first);
    return pool != wanted_->end() && pool->second.rejections;
  });
}

// Executes the plan. If the server rejects it as invalid, only this pool is put aside: the call succeeds, and other
// pools continue.
Task<Status> SlicePublisher::execute(std::string pool, SlicePlan plan) {
  const auto before = wanted_->find(pool);
  const PoolContentPtr content = before == wanted_->end() ? nullptr : before->second.content;
  log(LogLevel::kInfo, "publishing slices",
      {{"driver", options_.driver},
       {"pool", pool},
       {"generation", plan.generation},
       {"slices", plan.slices},
       {"writes", plan.writes()}});
  const Status done = co_await writer_.execute(std::move(plan));
  if (done || done.error().code != Code::kInvalidArgument) co_return done;
  // If the devices have changed meanwhile, the rejection does not apply to the new ones.
  const auto after = wanted_->find(pool);
  if (after == wanted_->end()) co_return done;
  if (after->second.content != content) co_return Status{};
  reject(pool, after->second, done.error());
  co_return Status{};
}

// Reads the stored slices and the Node that owns them, unless they are known.
Task<Status> SlicePublisher::list_if_needed() {
  if (!listed_) {
    auto list =
        co_await cluster_.list_slices(options_.driver, options_.node_name, clock_.now() + options_.request_timeout);
    if (!list) co_return within(list.error(), "cannot list the slices of driver '{}'", options_.driver);
    for (const Slice& slice : list->slices) learn_gates(slice, slice);  // stored counters prove that their gate is on
    store_.replace(std::move(list->slices));
    version_ = std::move(list->resource_version);
    listed_ = true;
    node_uid_.clear();
    listed_wake_.wake();
  }
  if (node_uid_.empty()) {
    auto node = co_await cluster_.get_node(options_.node_name, clock_.now() + options_.request_timeout);
    if (!node) co_return within(node.error(), "cannot read node '{}', the owner of the slices", options_.node_name);
    node_uid_ = std::move(node->uid);
    status_.node_runtime = std::move(node->runtime);
    const bool skips = std::ranges::find(node->declared_features, kSkips) != node->declared_features.end();
    if (std::exchange(gates_.kubelet_skips, skips) != skips) reset_views();
  }
  co_return Status{};
}

// Returns false if no view was out of date.
bool SlicePublisher::make_views() {
  bool made = false;
  for (auto& [name, pool] : *wanted_) {
    if (pool.view || !pool.content) continue;
    pool.view = view_pool(pool.content, pool.placement, gates_);
    made = true;
  }
  return made;
}

// Returns the plans of the pools that need writes, by pool.
std::map<std::string, SlicePlan> SlicePublisher::plan() {
  make_views();  // the list may have shown which fields the server keeps
  std::map<std::string, SlicePlan> plans;
  auto stored = store_.by_pool();
  const SliceOwner owner{options_.driver, options_.node_name, node_uid_};
  status_.pools.clear();
  status_.disabled_gates = gates_.off();
  for (auto& [name, pool] : *wanted_) {
    if (!pool.content) {
      stored.erase(name);
      continue;
    }
    SlicePlan plan = plan_slices(owner, name, *pool.view, stored[name]);
    const auto generation = plan.generation;
    const auto slices = plan.slices;
    if (plan.empty()) {
      pool.rejected_until = Instant::min();
      pool.rejections.reset();
      pool.rejection.clear();
    } else if (clock_.now() < pool.rejected_until) {
      due_ = std::min(due_, pool.rejected_until);
    } else {
      plans[name] = std::move(plan);
    }
    status_.pools[name] = {generation, slices, pool.view->devices.size(), pool.view->withheld, pool.rejection};
    stored.erase(name);
  }
  for (const auto& [name, slices] : stored)
    for (const Slice* slice : slices) plans[name].deletes.push_back(*slice);
  return plans;
}

void SlicePublisher::handle_event(SliceEvent event) {
  const SliceStore::Change change = store_.apply(std::move(event));
  if (change == SliceStore::Change::kNone) return;
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
    store_.put(std::move(stored));
    return;
  }
  log_limited(LogLevel::kWarn, "slice-altered/" + options_.driver,
              "the cluster stored a slice that differs from what was sent; an admission webhook may change it",
              {{"driver", options_.driver}, {"slice", stored.name}});
  store_.put_altered(sent, std::move(stored));
}

void SlicePublisher::learn_gates(const Slice& sent, const Slice& stored) {
  const FeatureGates before = gates_;
  gates_.learn(sent, stored);
  if (gates_ != before) reset_views();
}

// Resets the views: the feature gates decide what can be published.
void SlicePublisher::reset_views() {
  for (auto& [name, pool] : *wanted_) pool.view.reset();
  own_change_ = true;
  schedule_now();
}

void SlicePublisher::reject(const std::string& name, Pool& pool, const Error& error) {
  if (pool.view && gates_.suspect(*pool.view)) return reset_views();
  if (pool.view && !pool.view->counters.empty() && !pool.tried_both_placements) {
    // The server's release decides whether counters are stored beside their consumers.
    const bool separate = pool.placement == CounterPlacement::kSeparate;
    pool.placement = separate ? CounterPlacement::kCombined : CounterPlacement::kSeparate;
    pool.tried_both_placements = true;
    pool.view.reset();
    own_change_ = true;
    return;
  }
  pool.tried_both_placements = false;
  if (gates_.absolve()) reset_views();
  if (!pool.rejections) pool.rejections.emplace(kFirstRejected, kLongestRejected, options_.jitter_seed + 3);
  pool.rejected_until = clock_.now() + pool.rejections->next();
  status_.last_error = fmt::format("the API server refuses pool '{}', which is tried again: {}", name, error.message);
  if (std::exchange(pool.rejection, error.message) != error.message)
    log(LogLevel::kError, status_.last_error, {{"driver", options_.driver}});
}

void SlicePublisher::postpone_correction() {
  due_ = no_correction_before_;
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

void SlicePublisher::count_correction() {
  const Instant now = clock_.now();
  if (now - kDisputeEnd > last_correction_) {
    corrections_in_a_row_ = 0;
    correction_pause_.reset();
  }
  last_correction_ = now;
  ++status_.corrections;
  if (++corrections_in_a_row_ > kFreeCorrections) no_correction_before_ = now + correction_pause_.next();
}

void SlicePublisher::report(const Status& done) {
  if (!done) {
    ++status_.failures;
    status_.last_error = done.error().message;
    log_limited(LogLevel::kWarn, "slices-failed/" + options_.driver, done.error().message);
  } else if (due_ == Instant::max()) {
    report_gates();
    status_.in_sync = std::ranges::all_of(*wanted_, [](const auto& pool) { return pool.second.content != nullptr; });
    status_.last_error.clear();
    status_.last_success = clock_.wall();
  }
}

// Reports disabled gates once everything else is published.
void SlicePublisher::report_gates() {
  for (const std::string& gate : gates_.off())
    if (reported_gates_.insert(gate).second)
      log(LogLevel::kWarn, "the cluster does not take all fields of devices; enable its feature gate to publish them",
          {{"gate", gate}, {"driver", options_.driver}});
}

Task<void> SlicePublisher::watch() {
  const std::function<void(SliceEvent)> on_event = [this](SliceEvent event) { handle_event(std::move(event)); };
  while (true) {
    while (!listed_) co_await listed_wake_.wait();
    const Instant began = clock_.now();
    watching_ = true;
    const auto end = co_await (cluster_.watch_slices(options_.driver, options_.node_name, version_, on_event) ||
                               invalidated_wake_.wait());
    watching_ = false;
    if (end.index() == 1) continue;
    const Status& status = std::get<0>(end);
    if (status && clock_.now() - began >= kMinWatchTime) {
      watch_retry_.reset();
      read_node_again();
      continue;
    }
    if (!status) handle_watch_failure(status.error());
    co_await clock_.sleep_for(watch_retry_.next());
  }
}

// A kubelet of another release wipes the slices some time before its Node shows its features.
Task<void> SlicePublisher::look_at_new_kubelets() {
  while (true) {
    co_await wiped_wake_.wait();
    for (int i = 0; i < kLooksAtNewKubelet; ++i) {
      co_await clock_.sleep_for(kLookPause);
      read_node_again();
    }
  }
}

// Reads the Node again if its features matter.
void SlicePublisher::read_node_again() {
  const auto skips = [](const auto& pool) { return pool.second.content && pool.second.content->no_prepare; };
  if (!wanted_ || std::ranges::none_of(*wanted_, skips)) return;
  node_uid_.clear();
  schedule_now();
}

// Makes the next reconciliation list again. The watch ends before that, since its events may be newer than the list; it
// continues from the list.
void SlicePublisher::invalidate_store() {
  listed_ = false;
  if (watching_) invalidated_wake_.wake();
}

void SlicePublisher::handle_watch_failure(const Error& error) {
  // An expired version is normal and only needs a new list; a cancelled watch was stopped.
  if (error.code != Code::kOutOfRange && error.code != Code::kCancelled)
    log_limited(LogLevel::kWarn, "slices-watch/" + options_.driver, "cannot watch slices: " + error.message,
                {{"driver", options_.driver}});
  // After an interruption the watch continues from its last version, and an overloaded server needs no more work.
  if (error.code != Code::kUnavailable && error.code != Code::kResourceExhausted) {
    invalidate_store();
    schedule_now();
  }
  // The server may have been upgraded or have other gates.
  const FeatureGates before = gates_;
  gates_.forget_off();
  if (gates_ != before) reset_views();
}

}  // namespace cardcage
