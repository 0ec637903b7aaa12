#include "host/module/in_process.h"

#include <algorithm>

#include "host/core/log.h"

namespace cardcage {
namespace {

// For the stop of an instance that nobody waits for any more.
constexpr std::chrono::seconds kUnwatchedStop{10};

}  // namespace

InProcessModule::InProcessModule(asio::io_context& core, Clock& clock, std::shared_ptr<CoreGate> gate,
                                 std::unique_ptr<Lane> lane, Parts parts)
    : RunningModule(core, clock, parts.name, parts.identity), gate_(std::move(gate)), lane_(std::move(lane)) {
  auto news = [gate = gate_, binding = binding()] {
    gate->post([binding] {
      if (binding->module != nullptr) static_cast<InProcessModule*>(binding->module)->deliver_news();
    });
  };
  instance_ = std::make_shared<Instance>(std::move(parts.name), std::move(parts.module), std::move(parts.identity),
                                         std::move(parts.options), std::move(news));
}

std::shared_ptr<InProcessModule> InProcessModule::make(asio::io_context& core, Clock& clock,
                                                       std::shared_ptr<CoreGate> gate, std::unique_ptr<Lane> lane,
                                                       Parts parts) {
  return std::shared_ptr<InProcessModule>(
      new InProcessModule(core, clock, std::move(gate), std::move(lane), std::move(parts)));
}

InProcessModule::~InProcessModule() {
  if (state() == State::kStarted) tear_down_later();
  const bool at_rest = (state() == State::kLoaded || (state() == State::kStopped && *torn_down_)) &&
                       std::ranges::all_of(calls_, [](const auto& call) { return call.second->has_ended(); });
  for (const auto& [number, context] : calls_) context->cancel();
  gate_->close();
  if (!at_rest) lane_->leave_alone();
}

void InProcessModule::tear_down_later() {
  const auto context = std::make_shared<CallContext>("stop", next_number(), clock().now() + kUnwatchedStop);
  lane_->post([instance = instance_, context, torn_down = torn_down_] {
    instance->services().close();
    if (const auto stopped = instance->stop(*context); !stopped)
      log(LogLevel::kWarn, "module did not stop well", {{"error", stopped.error().message}});
    torn_down->store(true);
  });
}

void InProcessModule::enqueue(const std::shared_ptr<CallContext>& context, const Ended& ended, Work work) {
  std::erase_if(calls_, [](const auto& call) { return call.second->has_ended(); });
  calls_[context->number()] = context;
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
}

bool InProcessModule::cancel(std::uint64_t number) {
  const auto call = calls_.find(number);
  if (call == calls_.end()) return false;  // it has just ended
  call->second->cancel();
  return !call->second->abandon();
}

bool InProcessModule::is_running(std::uint64_t number) const {
  const auto call = calls_.find(number);
  return call != calls_.end() && call->second->is_running();
}

template <class T, class Function>
Task<Result<T>> InProcessModule::call(std::string what, Instant deadline, Function function) {
  const auto self = shared_from_this();
  if (auto admitted = admit(what, deadline); !admitted) co_return std::unexpected(admitted.error());
  const auto context = std::make_shared<CallContext>(what, next_number(), deadline);
  const auto answer = std::make_shared<std::optional<Result<T>>>();
  const auto ended = open_call(context->number(), what);
  enqueue(context, ended, [answer, function = std::move(function)](Instance& instance, CallContext& call) {
    answer->emplace(function(instance, call));
  });
  const Status outcome = co_await wait(context->number(), ended, deadline);
  if (!outcome) co_return std::unexpected(outcome.error());
  co_return std::move(**answer);
}

Error InProcessModule::give_up(const std::string& what, WallTime since) {
  for (const auto& [number, context] : calls_) context->abandon();
  return {Code::kUnavailable, stuck_text(what, since)};
}

std::string InProcessModule::stuck_text(const std::string& what, WallTime since) const {
  return fmt::format(
      "module '{}' is stuck in {} since {}: its thread cannot be ended, restart the daemon, or set isolation = "
      "\"process\" to let the host end the module",
      name(), what, timestamp(since));
}

Leftover InProcessModule::leftover() const {
  if (state() == State::kLoaded || *torn_down_) return {};
  return [torn_down = torn_down_, text = lost() ? lost()->message : stuck_]() -> std::optional<std::string> {
    if (*torn_down) return std::nullopt;
    return text;
  };
}

void InProcessModule::deliver_news() {
  const auto self = shared_from_this();
  const ModuleNews news = instance_->services().take();
  for (const auto& [device_id, health] : news.health)
    if (events().health) events().health(device_id, health);
  if (news.rescan && events().rescan) events().rescan();
}

Task<Status> InProcessModule::start(ModuleEvents told, Instant deadline) {
  const auto self = shared_from_this();
  if (auto begun = begin_life(std::move(told)); !begun) co_return begun;
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
  if (!end_life()) co_return Status{};
  if (lost()) {
    tear_down_later();
    co_return std::unexpected(*lost());
  }
  const auto since = clock().wall();
  const auto begun = std::make_shared<std::atomic<bool>>(false);
  auto work = [begun, torn_down = torn_down_](Instance& instance, CallContext& context) {
    begun->store(true);
    Status outcome = instance.stop(context);
    torn_down->store(true);
    return outcome;
  };
  const Status stopped = co_await call<void>("stop", deadline, std::move(work));
  events() = {};
  if (*torn_down_) co_return stopped;
  std::string busy = "stop";
  for (const auto& [number, context] : calls_)
    if (context->is_running()) busy = context->what();
  stuck_ = stuck_text(busy, since);
  if (!*begun) tear_down_later();  // nobody else would, once the call before has returned
  co_return stopped;
}

}  // namespace cardcage
