#include "host/module/in_process.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "host/core/log.h"

namespace cardcage {
namespace {

// For the stop of an instance that nobody waits for any more.
constexpr std::chrono::seconds kUnwatchedStop{10};

std::string timestamp(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

}  // namespace

InProcessModule::InProcessModule(asio::io_context& core, Clock& clock, std::shared_ptr<CoreGate> gate,
                                 std::unique_ptr<Lane> lane)
    : core_(core), clock_(clock), gate_(std::move(gate)), lane_(std::move(lane)) {
  binding_->module = this;
}

std::shared_ptr<InProcessModule> InProcessModule::make(asio::io_context& core, Clock& clock,
                                                       std::shared_ptr<CoreGate> gate, std::unique_ptr<Lane> lane,
                                                       Parts parts) {
  const std::shared_ptr<InProcessModule> made(new InProcessModule(core, clock, gate, std::move(lane)));
  auto news = [gate, binding = made->binding_] {
    gate->post([binding] {
      if (binding->module != nullptr) binding->module->deliver_news();
    });
  };
  made->instance_ = std::make_shared<Instance>(std::move(parts.name), std::move(parts.module),
                                               std::move(parts.identity), std::move(parts.options), std::move(news));
  return made;
}

InProcessModule::~InProcessModule() {
  binding_->module = nullptr;
  if (state_ == State::kStarted) tear_down_later();
  const bool at_rest = state_ != State::kStarted && !lost_ && std::ranges::all_of(pending_, [](const auto& entry) {
                         return entry.second.context->has_ended();
                       });
  for (const auto& [number, pending] : pending_) pending.context->cancel();
  gate_->close();
  if (!at_rest) lane_->leave_alone();
}

void InProcessModule::tear_down_later() {
  const auto context = std::make_shared<CallContext>("stop", ++last_call_, clock_.now() + kUnwatchedStop);
  lane_->post([instance = instance_, context] {
    instance->services().close();
    if (const auto stopped = instance->stop(*context); !stopped)
      log(LogLevel::kWarn, "module did not stop well", {{"error", stopped.error().message}});
  });
}

Status InProcessModule::admit(const std::string& what, Instant deadline) const {
  if (lost_) return std::unexpected(*lost_);
  if (what != "start" && what != "stop" && state_ != State::kStarted)
    return fail(Code::kFailedPrecondition, "module '{}' cannot {}: it is {}", instance_->name(), what,
                state_ == State::kLoaded ? "not started" : "stopped");
  if (deadline <= clock_.now())
    return fail(Code::kDeadlineExceeded, "module '{}' cannot {}: no time is left for it", instance_->name(), what);
  return {};
}

std::unexpected<Error> InProcessModule::lacks(std::string_view what, std::string_view family) const {
  return fail(Code::kUnimplemented, "module '{}' cannot {}: it has no {}", instance_->name(), what, family);
}

std::shared_ptr<OneShot<Status>> InProcessModule::enqueue(const std::shared_ptr<CallContext>& context, Work work) {
  auto ended = std::make_shared<OneShot<Status>>(core_);
  pending_[context->number()] = {context, ended};
  // The lane holds nothing of the core but the gate.
  lane_->post(
      [instance = instance_, gate = gate_, context, weak = std::weak_ptr(ended), work = std::move(work)]() mutable {
        if (!context->begin()) return;
        work(*instance, *context);
        context->end();
        gate->post([weak = std::move(weak)] {
          if (const auto waiting = weak.lock()) waiting->set({});
        });
      });
  return ended;
}

Error InProcessModule::too_late(const CallContext& context) const {
  std::string busy;
  for (const auto& [number, pending] : pending_)
    if (number != context.number() && pending.context->is_running()) busy = pending.context->what();
  const std::string why =
      busy.empty() ? "it did not answer in time" : fmt::format("it had no time for it, being busy with {}", busy);
  return {Code::kDeadlineExceeded, fmt::format("module '{}' cannot {}: {}", instance_->name(), context.what(), why)};
}

Task<Status> InProcessModule::wait(std::shared_ptr<CallContext> context, std::shared_ptr<OneShot<Status>> ended,
                                   Instant deadline) {
  using namespace asio::experimental::awaitable_operators;
  const auto since = clock_.wall();
  auto first = co_await (ended->wait_until(Instant::max()) || clock_.sleep_until(deadline));
  if (auto* outcome = std::get_if<0>(&first); outcome != nullptr && *outcome) co_return std::move(**outcome);
  context->cancel();
  const bool began = !context->abandon();
  if (began && deadline != Instant::max())
    spawn(core_, watch(binding_, clock_, context, deadline + kStuckGrace, since));
  if (first.index() == 1) co_return std::unexpected(too_late(*context));
  co_return fail(Code::kCancelled, "module '{}' cannot {}: the call was cancelled", instance_->name(), context->what());
}

template <class T, class Function>
Task<Result<T>> InProcessModule::call(std::string what, Instant deadline, Function function) {
  const auto self = shared_from_this();
  if (auto admitted = admit(what, deadline); !admitted) co_return std::unexpected(admitted.error());
  const auto context = std::make_shared<CallContext>(std::move(what), ++last_call_, deadline);
  const auto answer = std::make_shared<std::optional<Result<T>>>();
  const auto ended = enqueue(context, [answer, function = std::move(function)](Instance& instance, CallContext& call) {
    answer->emplace(function(instance, call));
  });
  const Status outcome = co_await wait(context, ended, deadline);
  std::erase_if(pending_, [](const auto& entry) { return entry.second.context->has_ended(); });
  if (!outcome) co_return std::unexpected(outcome.error());
  co_return std::move(**answer);
}

Task<void> InProcessModule::watch(std::shared_ptr<Binding> binding, Clock& clock, std::shared_ptr<CallContext> context,
                                  Instant until, std::chrono::system_clock::time_point since) {
  co_await clock.sleep_until(until);
  if (binding->module != nullptr && context->is_running()) binding->module->declare_stuck(*context, since);
}

void InProcessModule::declare_stuck(const CallContext& context, std::chrono::system_clock::time_point since) {
  if (lost_) return;
  const auto self = shared_from_this();
  lost_ = Error{Code::kUnavailable,
                fmt::format("module '{}' is stuck in {} since {}: its thread cannot be ended, restart the daemon, or "
                            "set isolation = \"process\" to let the host end the module",
                            instance_->name(), context.what(), timestamp(since))};
  for (const auto& [number, pending] : pending_) {
    pending.context->abandon();
    if (const auto waiting = pending.ended.lock()) waiting->set(std::unexpected(*lost_));
  }
  const ModuleEvents events = std::exchange(events_, {});
  if (events.lost) events.lost(*lost_);
}

void InProcessModule::deliver_news() {
  const auto self = shared_from_this();
  const ModuleNews news = instance_->services().take();
  for (const auto& [device_id, health] : news.health)
    if (events_.health) events_.health(device_id, health);
  if (news.rescan && events_.rescan) events_.rescan();
}

Task<Status> InProcessModule::start(ModuleEvents events, Instant deadline) {
  const auto self = shared_from_this();
  if (state_ != State::kLoaded)
    co_return fail(Code::kFailedPrecondition, "module '{}' cannot start: it was started before", instance_->name());
  state_ = State::kStarted;
  events_ = std::move(events);
  co_return co_await call<void>("start", deadline,
                                [](Instance& instance, CallContext& context) { return instance.start(context); });
}

Task<Result<SnapshotPtr>> InProcessModule::discover(Instant deadline) {
  return call<SnapshotPtr>("discover", deadline, [](Instance& instance, CallContext& context) -> Result<SnapshotPtr> {
    auto snapshot = instance.discover(context);
    if (!snapshot) return std::unexpected(snapshot.error());
    return std::make_shared<const Snapshot>(std::move(*snapshot));
  });
}

Task<Result<PreparedEdits>> InProcessModule::prepare(ModuleClaim claim, Instant deadline) {
  return call<PreparedEdits>("prepare", deadline, [claim = std::move(claim)](Instance& instance, CallContext& context) {
    return instance.prepare(context, claim);
  });
}

Task<Status> InProcessModule::unprepare(ModuleClaim claim, Instant deadline) {
  return call<void>("unprepare", deadline, [claim = std::move(claim)](Instance& instance, CallContext& context) {
    return instance.unprepare(context, claim);
  });
}

Task<Status> InProcessModule::reconcile(std::vector<ModuleClaim> live, Instant deadline) {
  return call<void>("reconcile", deadline, [live = std::move(live)](Instance& instance, CallContext& context) {
    return instance.reconcile(context, live);
  });
}

Task<Result<std::vector<std::string>>> InProcessModule::choose(std::vector<std::string> available,
                                                               std::vector<std::string> required, std::size_t want,
                                                               Instant deadline) {
  if (!identity().has_preferred) co_return lacks("choose", CAGE_EXT_PREFERRED);
  auto work = [available = std::move(available), required = std::move(required), want](Instance& instance,
                                                                                       CallContext& context) {
    return instance.choose(context, available, required, want);
  };
  co_return co_await call<std::vector<std::string>>("choose", deadline, std::move(work));
}

Task<Status> InProcessModule::pre_start(ModuleClaim claim, Instant deadline) {
  if (!identity().has_pre_start) co_return lacks("pre_start", CAGE_EXT_PRE_START);
  auto work = [claim = std::move(claim)](Instance& instance, CallContext& context) {
    return instance.pre_start(context, claim);
  };
  co_return co_await call<void>("pre_start", deadline, std::move(work));
}

Task<Status> InProcessModule::check(std::string device_id, Instant deadline) {
  return call<void>("check", deadline, [device_id = std::move(device_id)](Instance& instance, CallContext& context) {
    return instance.check(context, device_id);
  });
}

Task<Status> InProcessModule::quiesce(Instant deadline) {
  return call<void>("quiesce", deadline,
                    [](Instance& instance, CallContext& context) { return instance.quiesce(context); });
}

Task<Status> InProcessModule::resume(Instant deadline) {
  return call<void>("resume", deadline,
                    [](Instance& instance, CallContext& context) { return instance.resume(context); });
}

Task<Status> InProcessModule::stop(Instant deadline) {
  const auto self = shared_from_this();
  const bool running = std::exchange(state_, State::kStopped) == State::kStarted;
  if (!running) co_return Status{};
  if (lost_) {
    tear_down_later();
    co_return std::unexpected(*lost_);
  }
  const Status stopped = co_await call<void>(
      "stop", deadline, [](Instance& instance, CallContext& context) { return instance.stop(context); });
  events_ = {};
  co_return stopped;
}

}  // namespace cardcage
