#include "host/slices/slice_publisher.h"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <algorithm>
#include <utility>

#include "host/core/log.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

// Events come in bursts (a wipe is one DELETED per slice): wait for the end of one, but not for long.
constexpr Duration kGather = 5ms;
constexpr int kMaxGathers = 10;
// A kubelet that starts, or a person, is corrected at once; who goes on for longer is damped.
constexpr int kFreeCorrections = 20;
constexpr Duration kPeace = 5min;
// What the server calls invalid may be valid to a later release of it.
constexpr Duration kRejectedRetry = 10min;
// A watch that lasted less counts as failed, or a server that ends them at once would be asked in a loop.
constexpr Duration kGoodWatch = 5s;

}  // namespace

SlicePublisher::SlicePublisher(asio::io_context& core, Clock& clock, Cluster& cluster, PublisherOptions options)
    : clock_(clock),
      cluster_(cluster),
      options_(std::move(options)),
      writer_(clock, cluster, options_.request_timeout,
              {.deleting =
                   [this](const Slice& slice) {
                     ++status_.deletes;
                     store_.remove(slice.name);
                   },
               .updated =
                   [this](const Slice& sent, Slice stored) {
                     ++status_.updates;
                     accept(sent, std::move(stored));
                   },
               .created =
                   [this](const Slice& sent, Slice stored) {
                     ++status_.creates;
                     accept(sent, std::move(stored));
                   }}),
      retry_(100ms, 30s, options_.jitter_seed),
      watch_retry_(100ms, 30s, options_.jitter_seed + 1),
      damping_(1s, 60s, options_.jitter_seed + 2),
      wake_(core),
      listed_wake_(core),
      distrusted_wake_(core),
      stopped_(core) {}

void SlicePublisher::set_pools(Pools pools) {
  std::map<std::string, Pool> next;
  for (auto& [name, content] : pools) {
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
  own_change_ = true;
  make_due();
}

Task<void> SlicePublisher::run() { co_await (reconcile() || watch() || stopped_.wait()); }

void SlicePublisher::make_due() {
  due_ = std::min(due_, clock_.now());
  status_.in_sync = false;
  wake_.wake();
}

Task<void> SlicePublisher::reconcile() {
  while (true) {
    while (clock_.now() < due_) co_await wake_.wait_until(clock_, due_);
    co_await gather();
    due_ = Instant::max();
    const bool own_change = own_change_;
    const Status done = co_await pass();
    report(done);
    if (done) {
      retry_.reset();
      continue;
    }
    // Whatever failed, the truth is what the server lists now.
    distrust_store();
    own_change_ = own_change_ || own_change;
    co_await clock_.sleep_for(retry_.next());
    make_due();
  }
}

Task<void> SlicePublisher::gather() {
  for (int i = 0; i < kMaxGathers; ++i) {
    const std::uint64_t before = foreign_deletes_;
    co_await clock_.sleep_for(kGather);
    if (foreign_deletes_ == before) co_return;
  }
}

// One comparison of what is wanted with what is there, and the writes that it asks for.
Task<Status> SlicePublisher::pass() {
  const bool own_change = std::exchange(own_change_, false);
  const Status known = co_await look();
  if (!known) co_return known;
  std::map<std::string, SlicePlan> plans = plan();
  if (plans.empty()) co_return Status{};
  if (!own_change && clock_.now() < quiet_until_) {
    hold_off();
    co_return Status{};
  }
  for (auto& [name, next] : plans) {
    const Status done = co_await carry_out(name, std::move(next));
    if (!done) co_return within(done.error(), "pool '{}' of driver '{}'", name, options_.driver);
  }
  if (!own_change) count_correction();
  make_due();  // to see that nothing is left
  co_return Status{};
}

// A plan that the server refuses concerns its pool alone: it is put aside, and the answer is ok.
Task<Status> SlicePublisher::carry_out(std::string pool, SlicePlan plan) {
  const auto before = wanted_->find(pool);
  const PoolContentPtr content = before == wanted_->end() ? nullptr : before->second.content;
  log(LogLevel::kInfo, "publishing slices",
      {{"driver", options_.driver},
       {"pool", pool},
       {"generation", std::to_string(plan.generation)},
       {"slices", std::to_string(plan.slices)},
       {"writes", std::to_string(plan.writes())}});
  const Status done = co_await writer_.carry_out(std::move(plan));
  if (done || done.error().code != Code::kInvalidArgument) co_return done;
  // The devices may have changed meanwhile: then the refusal says nothing about the new ones.
  const auto after = wanted_->find(pool);
  if (after == wanted_->end()) co_return done;
  if (after->second.content != content) co_return Status{};
  reject(pool, after->second, done.error());
  co_return Status{};
}

// Learns what a plan needs: the slices that are there and the Node that owns them.
Task<Status> SlicePublisher::look() {
  if (!listed_) {
    auto list =
        co_await cluster_.list_slices(options_.driver, options_.node_name, clock_.now() + options_.request_timeout);
    if (!list) co_return within(list.error(), "cannot list the slices of driver '{}'", options_.driver);
    for (const Slice& slice : list->slices) learn(slice, slice);  // counters in one prove their gate
    store_.replace(std::move(list->slices));
    version_ = std::move(list->resource_version);
    listed_ = true;
    node_uid_.clear();
    listed_wake_.wake();
  }
  if (node_uid_.empty()) {
    auto uid = co_await cluster_.get_node_uid(options_.node_name, clock_.now() + options_.request_timeout);
    if (!uid) co_return within(uid.error(), "cannot read node '{}', the owner of the slices", options_.node_name);
    node_uid_ = *std::move(uid);
  }
  co_return Status{};
}

// What to write, by pool; only pools that need it.
std::map<std::string, SlicePlan> SlicePublisher::plan() {
  std::map<std::string, SlicePlan> plans;
  auto stored = store_.by_pool();
  const SliceOwner owner{options_.driver, options_.node_name, node_uid_};
  status_.pools.clear();
  status_.disabled_gates = gates_.off();
  for (auto& [name, pool] : *wanted_) {
    if (!pool.view) pool.view = view_pool(pool.content, pool.placement, gates_);
    SlicePlan plan = plan_slices(owner, name, *pool.view, stored[name]);
    const auto generation = plan.generation;
    const auto slices = plan.slices;
    if (plan.empty()) {
      pool.rejected_until = Instant::min();
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

void SlicePublisher::take(SliceEvent event) {
  const SliceStore::News news = store_.take(std::move(event));
  if (news == SliceStore::News::kNone) return;
  if (news == SliceStore::News::kDeleted) {
    ++foreign_deletes_;
    node_uid_.clear();  // the garbage collector deletes what a Node that was replaced owns
  }
  make_due();
}

void SlicePublisher::accept(const Slice& sent, Slice stored) {
  learn(sent, stored);
  if (is_same_content(sent, stored) || own_change_) {
    store_.put(std::move(stored));
    return;
  }
  log_limited(LogLevel::kWarn, "slice-altered/" + options_.driver,
              "the API server stored a slice other than it was sent: an admission webhook changes it",
              {{"driver", options_.driver}, {"slice", stored.name}});
  store_.put_altered(sent, std::move(stored));
}

void SlicePublisher::learn(const Slice& sent, const Slice& stored) {
  const FeatureGates before = gates_;
  for (const std::string& gate : gates_.learn(sent, stored)) {
    if (!reported_gates_.insert(gate).second) continue;
    log(LogLevel::kWarn, "the API server drops fields of devices: enable its feature gate, or live without",
        {{"gate", gate}, {"driver", options_.driver}});
  }
  if (gates_ != before) forget_views();
}

// What can be published has to be found out again.
void SlicePublisher::forget_views() {
  for (auto& [name, pool] : *wanted_) pool.view.reset();
  own_change_ = true;
  make_due();
}

void SlicePublisher::reject(const std::string& name, Pool& pool, const Error& error) {
  if (pool.view && !pool.view->counters.empty() && !pool.tried_both_placements) {
    // Whether counters go beside their consumers depends on the release of the server.
    const bool separate = pool.placement == CounterPlacement::kSeparate;
    pool.placement = separate ? CounterPlacement::kCombined : CounterPlacement::kSeparate;
    pool.tried_both_placements = true;
    pool.view.reset();
    own_change_ = true;
    return;
  }
  pool.tried_both_placements = false;
  pool.rejected_until = clock_.now() + kRejectedRetry;
  pool.rejection = error.message;
  status_.last_error = fmt::format("pool '{}' is not published until its devices change: {}", name, error.message);
  log(LogLevel::kError, status_.last_error, {{"driver", options_.driver}});
}

void SlicePublisher::hold_off() {
  due_ = quiet_until_;
  status_.last_error = fmt::format(
      "somebody else keeps changing the slices of driver '{}' on node '{}', waiting before the next correction: is "
      "there a second publisher?",
      options_.driver, options_.node_name);
  log_limited(LogLevel::kWarn, "slices-disputed/" + options_.driver, status_.last_error);
}

void SlicePublisher::count_correction() {
  const Instant now = clock_.now();
  if (now - kPeace > last_correction_) {
    corrections_in_a_row_ = 0;
    damping_.reset();
  }
  last_correction_ = now;
  ++status_.corrections;
  if (++corrections_in_a_row_ > kFreeCorrections) quiet_until_ = now + damping_.next();
}

void SlicePublisher::report(const Status& done) {
  if (!done) {
    ++status_.failures;
    status_.last_error = done.error().message;
    log_limited(LogLevel::kWarn, "slices-failed/" + options_.driver, done.error().message);
  } else if (due_ == Instant::max()) {
    status_.in_sync = true;
    status_.last_error.clear();
    status_.last_success = clock_.wall();
  }
}

Task<void> SlicePublisher::watch() {
  const std::function<void(SliceEvent)> on_event = [this](SliceEvent event) { take(std::move(event)); };
  while (true) {
    while (!listed_) co_await listed_wake_.wait();
    const Instant began = clock_.now();
    watching_ = true;
    const auto end = co_await (cluster_.watch_slices(options_.driver, options_.node_name, version_, on_event) ||
                               distrusted_wake_.wait());
    watching_ = false;
    if (end.index() == 1) continue;
    const Status& status = std::get<0>(end);
    if (status && clock_.now() - began >= kGoodWatch) {
      watch_retry_.reset();
      continue;
    }
    if (!status) watch_failed(status.error());
    co_await clock_.sleep_for(watch_retry_.next());
  }
}

// The next pass lists. The watch ends before: it would mix events with a list that is older than they, and must begin
// again where the list ended.
void SlicePublisher::distrust_store() {
  listed_ = false;
  if (watching_) distrusted_wake_.wake();
}

void SlicePublisher::watch_failed(const Error& error) {
  // A gone history is listed again without a word, and stop() is no trouble at all.
  if (error.code != Code::kOutOfRange && error.code != Code::kCancelled)
    log_limited(LogLevel::kWarn, "slices-watch/" + options_.driver, "cannot watch slices: " + error.message,
                {{"driver", options_.driver}});
  // After a mere interruption the watch goes on where it was.
  if (error.code != Code::kUnavailable) {
    distrust_store();
    make_due();
  }
  // A server that went away may have come back with other gates.
  if (!gates_.off().empty()) {
    gates_.forget_off();
    forget_views();
  }
}

}  // namespace cardcage
