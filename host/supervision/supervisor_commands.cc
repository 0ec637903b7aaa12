// How a supervisor executes what an operator asks for.
#include "host/core/log.h"
#include "host/supervision/supervisor.h"

namespace cardcage {
namespace {

std::string_view participle(ModuleVerb verb) {
  switch (verb) {
    case ModuleVerb::kQuiesce: return "quiesced";
    case ModuleVerb::kResume: return "resumed";
    case ModuleVerb::kRestart: return "restarted";
  }
  return "told";
}

}  // namespace

Task<Status> Supervisor::execute(ModuleCommand command) {
  const ModuleVerb verb = command.verb;
  if (life_.stop_requested())
    co_return fail(Code::kUnavailable, "module '{}' is stopped: the daemon ends", config().name);
  if (order_)
    co_return fail(Code::kAborted, "module '{}' is being {}; try again when that is done", config().name,
                   participle(order_->command.verb));
  const OneShot<Status> done(core_);
  const Instant deadline = clock_.now() + command.limit;
  order_ = Order{std::move(command), deadline, done};
  wakeup_.wake();
  std::optional<Status> outcome = co_await done.wait_until(clock_, deadline);
  if (outcome) co_return std::move(*outcome);
  // Without an outcome the order is still ours, and the supervisor has not ended.
  if (!order_->begun) {
    order_.reset();
    co_return fail(Code::kDeadlineExceeded, "module '{}' is not {}: it was still {} at the deadline; nothing changed",
                   config().name, participle(verb), to_string(state()));
  }
  if (verb == ModuleVerb::kQuiesce) co_return co_await done.wait();  // its calls have the same deadline
  co_return fail(Code::kDeadlineExceeded,
                 "module '{}' is {} and still starting; 'cagectl modules' shows how it goes on", config().name,
                 participle(verb));
}

void Supervisor::respond(Status outcome) {
  const Order order = *std::exchange(order_, std::nullopt);
  order.done.set(std::move(outcome));
}

Task<bool> Supervisor::execute_while_ready() {
  switch (order_->command.verb) {
    case ModuleVerb::kResume:
      respond(
          fail(Code::kFailedPrecondition, "module '{}' is not quiesced, it is {}", config().name, to_string(state())));
      break;
    case ModuleVerb::kQuiesce: co_await quiesce_instance(); break;
    case ModuleVerb::kRestart:
      begin_restart();
      life_.restart();
      co_await release();
      co_return false;
  }
  co_return !life_.quiesced();
}

void Supervisor::begin_restart() {
  const ModuleCommand& command = order_->command;
  log(LogLevel::kInfo, "module is restarted by an operator",
      {{"module", config().name}, {"by", command.by}, {"reason", command.reason}});
  order_->begun = true;
}

void Supervisor::refuse_while_stuck() {
  respond(fail(Code::kFailedPrecondition, "module '{}' cannot be {} now: {}", config().name,
               participle(order_->command.verb), life_.detail()));
}

// There is no instance: a quiesce has nothing to stop, and a resume nothing to resume.
void Supervisor::execute_while_away() {
  switch (order_->command.verb) {
    case ModuleVerb::kResume:
      return respond(fail(Code::kFailedPrecondition, "module '{}' is not quiesced, it is {}: {}", config().name,
                          to_string(state()), life_.detail()));
    case ModuleVerb::kQuiesce: return respond(mark_quiesced());
    case ModuleVerb::kRestart: begin_restart(); return life_.forgive_failures();
  }
}

void Supervisor::execute_while_quiesced() {
  switch (order_->command.verb) {
    case ModuleVerb::kQuiesce: return respond({});  // the first operator and reason stay
    case ModuleVerb::kRestart: return respond(fail(Code::kFailedPrecondition, "{}", life_.usable().error().message));
    case ModuleVerb::kResume:
      if (auto cleared = unmark_quiesced(); !cleared)
        return respond(within(cleared.error(), "module '{}' stays quiesced", config().name));
      order_->begun = true;
      life_.forgive_failures();
      log(LogLevel::kInfo, "module is resumed", {{"module", config().name}, {"by", order_->command.by}});
  }
}

// From here on nobody else gets the instance.
Status Supervisor::mark_quiesced() {
  const ModuleCommand& command = order_->command;
  if (auto written = marks_.set(config().name, {command.by, command.reason, clock_.wall()}); !written)
    return within(written.error(), "module '{}' is not quiesced: its mark cannot be written", config().name);
  log(LogLevel::kInfo, "module is being quiesced",
      {{"module", config().name}, {"by", command.by}, {"reason", command.reason}});
  life_.set_quiesced(*marks_.find(config().name));
  return {};
}

Status Supervisor::unmark_quiesced() {
  Status cleared = marks_.clear(config().name);
  if (cleared) life_.clear_quiesced();
  return cleared;
}

Task<void> Supervisor::quiesce_instance() {
  order_->begun = true;
  if (auto marked = mark_quiesced(); !marked) co_return respond(marked);
  const Status freed = co_await free_hardware(order_->deadline);
  if (!freed) {
    log(LogLevel::kWarn, "quiesce failed", {{"module", config().name}, {"error", freed.error().message}});
    if (auto cleared = unmark_quiesced(); !cleared) co_return respond(cleared);
    co_return respond(within(freed.error(), "module '{}' is not quiesced, nothing changed", config().name));
  }
  if (const auto left = leftovers_.reason())
    co_return respond(
        fail(Code::kFailedPrecondition, "module '{}' was stopped and stays quiesced, but {}", config().name, *left));
  log(LogLevel::kInfo, "module is quiesced", {{"module", config().name}});
  respond({});
}

// Waits for open calls first. A module without quiesce is stopped, which frees the hardware as well.
Task<Status> Supervisor::free_hardware(Instant deadline) {
  co_await retirements_.join(clock_, deadline);
  if (!retired_.empty())
    co_return fail(Code::kDeadlineExceeded, "the instance of module '{}' before the last change is still busy",
                   config().name);
  if (auto finished = co_await module_->finish_calls(deadline); !finished) co_return finished;
  if (!identity_->has_quiesce) {
    co_await release();
    co_return Status{};
  }
  const Status quiesced = co_await module_->quiesce(deadline);
  if (quiesced || life_.lost()) co_return quiesced;
  // It may have freed part of the hardware: resume takes that back, and a discover must follow [R12].
  std::ignore = co_await module_->resume(clock_.now() + deadlines_.stop);
  devices_.request_rescan();
  co_return quiesced;
}

}  // namespace cardcage
