// What a supervisor does when an operator says so.
#include "host/core/log.h"
#include "host/supervision/supervisor.h"

namespace cardcage {
namespace {

std::string_view done_text(ModuleVerb verb) {
  switch (verb) {
    case ModuleVerb::kQuiesce: return "quiesced";
    case ModuleVerb::kResume: return "resumed";
    case ModuleVerb::kRestart: return "restarted";
  }
  return "told";
}

}  // namespace

Task<Status> Supervisor::obey(ModuleCommand command) {
  const std::string_view done_as = done_text(command.verb);
  if (stopping_) co_return fail(Code::kUnavailable, "module '{}' is stopped: the daemon ends", config_.name);
  if (order_)
    co_return fail(Code::kAborted, "module '{}' is just being {}; try again when that is done", config_.name,
                   done_text(order_->command.verb));
  const OneShot<Status> done(core_);
  const Instant deadline = clock_.now() + command.limit;
  const bool ends_in_time = command.verb == ModuleVerb::kQuiesce;
  const std::uint64_t number = ++last_order_;
  order_ = Order{number, std::move(command), deadline, done};
  wakeup_.wake();
  std::optional<Status> outcome = co_await done.wait_until(clock_, deadline);
  if (outcome) co_return std::move(*outcome);
  const bool answered = !order_ || order_->number != number;
  if (!answered && !order_->begun) {
    order_.reset();
    co_return fail(Code::kDeadlineExceeded, "module '{}' is not {}: it is {} and had no time for that; nothing changed",
                   config_.name, done_as, to_string(state_));
  }
  if (answered || ends_in_time) co_return co_await done.wait();
  co_return fail(Code::kDeadlineExceeded,
                 "module '{}' is {} and still starting; 'cagectl modules' shows how it goes on", config_.name, done_as);
}

void Supervisor::answer(Status outcome) {
  const Order order = *std::exchange(order_, std::nullopt);
  order.done.set(std::move(outcome));
}

std::unexpected<Error> Supervisor::refusal(const QuiesceMark& mark) const {
  return fail(Code::kUnavailable, "module '{0}' is {1}; 'cagectl module resume {0}' takes it back into service",
              config_.name, to_string(mark));
}

// True if the instance goes on.
Task<bool> Supervisor::obey_while_ready() {
  switch (order_->command.verb) {
    case ModuleVerb::kResume:
      answer(fail(Code::kFailedPrecondition, "module '{}' is not quiesced, it is {}", config_.name, to_string(state_)));
      break;
    case ModuleVerb::kQuiesce: co_await quiesce_instance(); break;
    case ModuleVerb::kRestart:
      order_->begun = true;
      log(LogLevel::kInfo, "module is restarted by an operator",
          {{"module", config_.name}, {"by", order_->command.by}, {"reason", order_->command.reason}});
      policy_.forgive();
      enter(ModuleState::kStarting);
      co_await release();
      ++restarts_;
      co_return false;
  }
  co_return quiesced() == nullptr;
}

void Supervisor::refuse_while_stuck() {
  answer(fail(Code::kFailedPrecondition, "module '{}' cannot be {} now: {}", config_.name,
              done_text(order_->command.verb), stuck_));
}

// There is no instance: nothing has to let go, and nothing can be resumed.
void Supervisor::obey_while_away() {
  switch (order_->command.verb) {
    case ModuleVerb::kResume:
      return answer(fail(Code::kFailedPrecondition, "module '{}' is not quiesced, it is {}: {}", config_.name,
                         to_string(state_), detail()));
    case ModuleVerb::kQuiesce: return answer(note_quiesced());
    case ModuleVerb::kRestart:
      order_->begun = true;
      policy_.forgive();
      retry_ = clock_.now();
      return;
  }
}

void Supervisor::obey_while_quiesced() {
  switch (order_->command.verb) {
    case ModuleVerb::kQuiesce: return answer({});  // by whom and why stays as it was
    case ModuleVerb::kRestart:
      return answer(fail(Code::kFailedPrecondition, "{}", refusal(*quiesced()).error().message));
    case ModuleVerb::kResume:
      const Status cleared = quiesced_.clear(config_.name);
      if (!cleared) return answer(within(cleared.error(), "module '{}' stays quiesced", config_.name));
      order_->begun = true;
      policy_.forgive();
      retry_ = clock_.now();
      log(LogLevel::kInfo, "module is resumed", {{"module", config_.name}, {"by", order_->command.by}});
      return;
  }
}

// From here on nobody gets the instance.
Status Supervisor::note_quiesced() {
  const ModuleCommand& command = order_->command;
  QuiesceMark mark{command.by, command.reason, clock_.wall()};
  if (auto noted = quiesced_.set(config_.name, std::move(mark)); !noted)
    return within(noted.error(), "module '{}' is not quiesced: it cannot be noted", config_.name);
  log(LogLevel::kInfo, "module is to let go of its hardware",
      {{"module", config_.name}, {"by", command.by}, {"reason", command.reason}});
  listener_.changed(*this);
  return {};
}

Task<void> Supervisor::quiesce_instance() {
  order_->begun = true;
  if (auto noted = note_quiesced(); !noted) co_return answer(noted);
  const Status done = co_await let_go(order_->deadline);
  if (const auto left = done ? remains() : std::nullopt)
    co_return answer(
        fail(Code::kFailedPrecondition, "module '{}' was stopped and stays quiesced, but {}", config_.name, *left));
  if (done) {
    log(LogLevel::kInfo, "module is quiesced", {{"module", config_.name}});
    co_return answer({});
  }
  log(LogLevel::kWarn, "module is not quiesced", {{"module", config_.name}, {"error", done.error().message}});
  if (auto cleared = quiesced_.clear(config_.name); !cleared) co_return answer(cleared);
  listener_.changed(*this);
  answer(within(done.error(), "module '{}' is not quiesced, nothing changed", config_.name));
}

// Calls that run end first. A module that has no quiesce is stopped, which lets go of the hardware as well.
Task<Status> Supervisor::let_go(Instant deadline) {
  if (auto finished = co_await module_->finish_calls(deadline); !finished) co_return finished;
  if (!identity_->has_quiesce) {
    co_await release();
    co_return Status{};
  }
  const Status quiesced = co_await module_->quiesce(deadline);
  if (quiesced) offered_ = false;
  if (quiesced || lost_) co_return quiesced;
  // It may have got half the way.
  std::ignore = co_await module_->resume(clock_.now() + deadlines_.stop);
  rescan_ = true;
  co_return quiesced;
}

}  // namespace cardcage
