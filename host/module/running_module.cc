#include "host/module/running_module.h"

#include <fmt/chrono.h>

#include "cardcage/module.h"

namespace cardcage {

RunningModule::RunningModule(asio::io_context& core, Clock& clock, std::string name, ModuleIdentity identity,
                             OptionValues options)
    : core_(core),
      clock_(clock),
      name_(std::move(name)),
      identity_(std::move(identity)),
      options_(std::move(options)) {}

Task<Status> RunningModule::start(ModuleEvents events, Instant deadline) {
  if (state_ != State::kLoaded)
    co_return fail(Code::kFailedPrecondition, "module '{}' cannot start: it was started before", name_);
  state_ = State::kStarted;
  events_ = std::move(events);
  ModuleCall call = StartCall{std::move(options_)};  // GCC 12 destroys such a temporary of a co_await twice
  co_return co_await execute_for<void>(std::move(call), deadline);
}

Task<Result<SnapshotPtr>> RunningModule::discover(Instant deadline) {
  return execute_for<SnapshotPtr>(DiscoverCall(), deadline);
}

Task<Result<PreparedEdits>> RunningModule::prepare(ModuleClaim claim, Instant deadline) {
  return execute_for<PreparedEdits>(PrepareCall(std::move(claim)), deadline);
}

Task<Status> RunningModule::unprepare(ModuleClaim claim, Instant deadline) {
  return execute_for<void>(UnprepareCall(std::move(claim)), deadline);
}

Task<Status> RunningModule::reconcile(std::vector<ModuleClaim> live, Instant deadline) {
  return execute_for<void>(ReconcileCall(std::move(live)), deadline);
}

Task<Result<std::vector<std::string>>> RunningModule::choose(std::vector<std::string> available,
                                                             std::vector<std::string> required, std::size_t want,
                                                             Instant deadline) {
  return execute_for<std::vector<std::string>>(ChooseCall(std::move(available), std::move(required), want), deadline);
}

Task<Status> RunningModule::pre_start(ModuleClaim claim, Instant deadline) {
  return execute_for<void>(PreStartCall(std::move(claim)), deadline);
}

Task<Status> RunningModule::check(std::string device_id, Instant deadline) {
  return execute_for<void>(CheckCall(std::move(device_id)), deadline);
}

Task<Status> RunningModule::quiesce(Instant deadline) { return execute_for<void>(QuiesceCall(), deadline); }

Task<Status> RunningModule::resume(Instant deadline) { return execute_for<void>(ResumeCall(), deadline); }

Task<Status> RunningModule::stop(Instant deadline) {
  const auto self = shared_from_this();
  if (std::exchange(state_, State::kStopped) != State::kStarted) co_return Status{};
  for (const auto& waiter : std::exchange(waiting_for_idle_, {}))
    waiter.set(fail(Code::kCancelled, "module '{}' is stopped", name_));
  ModuleCall call = StopCall{};
  const Status stopped = co_await execute_for<void>(std::move(call), deadline);
  events_ = {};
  co_await tear_down(deadline);
  co_return stopped;
}

template <class Reply>
Task<Result<Reply>> RunningModule::execute_for(ModuleCall call, Instant deadline) {
  auto reply = co_await execute(std::move(call), deadline);
  if (!reply) co_return std::unexpected(std::move(reply.error()));
  if constexpr (std::is_void_v<Reply>)
    co_return Status{};
  else
    co_return std::get<Reply>(std::move(*reply));
}

Task<Result<ModuleReply>> RunningModule::execute(ModuleCall call, Instant deadline) {
  const auto self = shared_from_this();
  if (auto admitted = admit(call, deadline); !admitted) co_return std::unexpected(admitted.error());
  const std::uint64_t number = next_number();
  const OneShot<Result<ModuleReply>> reply(core_);
  const std::string_view what = name_of(call);
  open_.emplace(number, OpenCall{what, clock_.wall(), clock_.now(), deadline, reply, DelayedCall(core_, clock_)});
  if (auto begun = begin(number, std::move(call), deadline); !begun) {
    forget_call(number);
    co_return within(begun.error(), "module '{}' cannot {}", name_, what);
  }
  std::optional<Result<ModuleReply>> outcome = co_await reply.wait_until(clock_, deadline);
  if (outcome) co_return std::move(*outcome);
  Error error = unanswered(number, deadline);
  // A call that goes on stays open: the errors of others say that the module is busy with it.
  if (!cancel(number))
    forget_call(number);
  else if (deadline != Instant::max())
    open_.at(number).stuck.call_at(deadline + kStuckGrace, [this, number] { check_stuck(number); });
  co_return std::unexpected(std::move(error));
}

Status RunningModule::admit(const ModuleCall& call, Instant deadline) const {
  const std::string_view what = name_of(call);
  const bool starts_or_stops = std::holds_alternative<StartCall>(call) || std::holds_alternative<StopCall>(call);
  const auto lacks = [&](std::string_view family) {
    return fail(Code::kUnimplemented, "module '{}' cannot {}: it has no {}", name_, what, family);
  };
  if (std::holds_alternative<ChooseCall>(call) && !identity_.has_preferred) return lacks(CAGE_EXT_PREFERRED);
  if (std::holds_alternative<PreStartCall>(call) && !identity_.has_pre_start) return lacks(CAGE_EXT_PRE_START);
  if (!starts_or_stops && state_ != State::kStarted)
    return fail(Code::kFailedPrecondition, "module '{}' cannot {}: it is {}", name_, what,
                state_ == State::kLoaded ? "not started" : "stopped");
  if (lost_) return std::unexpected(*lost_);
  if (deadline <= clock_.now())
    return fail(Code::kDeadlineExceeded, "module '{}' cannot {}: no time is left for it", name_, what);
  return {};
}

Error RunningModule::unanswered(std::uint64_t number, Instant deadline) const {
  const std::string_view what = open_.at(number).what;
  if (clock_.now() < deadline)
    return {Code::kCancelled, fmt::format("module '{}' cannot {}: the call was cancelled", name_, what)};
  const auto& [oldest, busy] = *open_.begin();
  const std::string why = oldest == number ? "it did not answer in time"
                                           : fmt::format("it had no time for it, being busy with {}", busy.what);
  return {Code::kDeadlineExceeded, fmt::format("module '{}' cannot {}: {}", name_, what, why)};
}

void RunningModule::close_call(std::uint64_t number, Result<ModuleReply> reply) {
  const auto call = open_.find(number);
  if (call == open_.end()) return;
  call->second.reply.set(std::move(reply));
  forget_call(number);
}

void RunningModule::forget_call(std::uint64_t number) {
  open_.erase(number);
  if (!open_.empty()) return;
  for (const auto& waiter : std::exchange(waiting_for_idle_, {})) waiter.set({});
}

Task<Status> RunningModule::finish_calls(Instant deadline) {
  const auto self = shared_from_this();
  if (lost_) co_return std::unexpected(*lost_);
  if (open_.empty()) co_return Status{};
  const OneShot<Status> idle(core_);
  waiting_for_idle_.push_back(idle);
  std::optional<Status> outcome = co_await idle.wait_until(clock_, deadline);
  if (outcome) co_return std::move(*outcome);
  co_return fail(Code::kDeadlineExceeded, "module '{}' is still busy with {}", name_, oldest_call()->what);
}

std::optional<BusyModule> RunningModule::busy() const {
  const OpenCall* const oldest = oldest_call();
  if (!oldest) return std::nullopt;
  return BusyModule{std::string(oldest->what), oldest->begun, oldest->deadline};
}

void RunningModule::check_stuck(std::uint64_t number) {
  if (lost_) return;
  const auto& [oldest, call] = *open_.begin();
  if (oldest == number) lose(give_up(call));
}

void RunningModule::lose(Error why) {
  const auto self = shared_from_this();
  if (lost_) return;
  lost_ = std::move(why);
  for (const auto& [number, call] : open_) call.reply.set(std::unexpected(*lost_));
  for (const auto& waiter : std::exchange(waiting_for_idle_, {})) waiter.set(std::unexpected(*lost_));
  const ModuleEvents events = std::exchange(events_, {});
  if (events.lost) events.lost(*lost_);
}

std::string RunningModule::timestamp(WallTime time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

}  // namespace cardcage
