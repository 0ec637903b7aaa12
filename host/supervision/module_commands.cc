#include "host/supervision/module_commands.h"

#include <algorithm>
#include <utility>

#include "host/core/log.h"
#include "host/core/subject.h"

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

std::string subject_of(const ModuleCommand& command) {
  return command.device.empty() ? fmt::format("module '{}'", command.module)
                                : fmt::format("device '{}' of module '{}'", command.device, command.module);
}

}  // namespace

Task<Status> ModuleCommands::execute(ModuleCommand command) {
  const ModuleVerb verb = command.verb;
  if (module_.life.stop_requested())
    co_return fail(Code::kUnavailable, "module '{}' is stopped: the daemon ends", module_.name());
  if (pending_)
    co_return fail(Code::kAborted, "{} is being {}; try again when that is done", subject_of(pending_->command),
                   participle(pending_->command.verb));
  const OneShot<Status> done(module_.core);
  const Instant deadline = module_.clock.now() + command.limit;
  pending_ = Pending{std::move(command), deadline, done};
  module_.wakeup.wake();
  std::optional<Status> outcome = co_await done.wait_until(module_.clock, deadline);
  if (outcome) co_return std::move(*outcome);
  // Without an outcome the command is still ours, and the supervisor has not ended.
  if (!pending_->begun) {
    const std::string subject = subject_of(std::exchange(pending_, std::nullopt)->command);
    co_return fail(Code::kDeadlineExceeded, "{} is not {}: the module was still {} at the deadline; nothing changed",
                   subject, participle(verb), to_string(module_.life.state()));
  }
  // The calls of these commands have the same deadline.
  if (verb == ModuleVerb::kQuiesce || !pending_->command.device.empty()) co_return co_await done.wait();
  co_return fail(Code::kDeadlineExceeded, "module '{}' is {} and still starting; 'cagectl modules' shows its progress",
                 module_.name(), participle(verb));
}

void ModuleCommands::respond(Status outcome) {
  const Pending ended = *std::exchange(pending_, std::nullopt);
  ended.done.set(std::move(outcome));
}

void ModuleCommands::end_start(const Status& outcome) {
  if (pending_ && pending_->begun) respond(outcome);
}

void ModuleCommands::stop() {
  if (pending_) respond(fail(Code::kUnavailable, "module '{}' is stopped: the daemon ends", module_.name()));
}

Task<bool> ModuleCommands::execute_while_ready() {
  if (!pending_->command.device.empty()) {
    co_await execute_for_device();
    co_return true;
  }
  switch (pending_->command.verb) {
    case ModuleVerb::kResume:
      respond(fail(Code::kFailedPrecondition, "module '{}' is not quiesced, it is {}", module_.name(),
                   to_string(module_.life.state())));
      break;
    case ModuleVerb::kQuiesce: co_await quiesce_instance(); break;
    case ModuleVerb::kRestart:
      begin_restart();
      module_.life.restart();
      co_await instances_.release();
      co_return false;
  }
  co_return !module_.life.quiesced();
}

void ModuleCommands::begin_restart() {
  const ModuleCommand& command = pending_->command;
  log(LogLevel::kInfo, "module is restarted by an operator",
      {{"module", module_.name()}, {"by", command.by}, {"reason", command.reason}});
  pending_->begun = true;
}

void ModuleCommands::refuse_while_stuck() {
  respond(fail(Code::kFailedPrecondition, "module '{}' cannot be {} now: {}", module_.name(),
               participle(pending_->command.verb), module_.life.detail()));
}

// Without an instance a quiesce has nothing to stop, and a resume nothing to resume.
Task<void> ModuleCommands::execute_while_away() {
  if (!pending_->command.device.empty()) co_return co_await execute_for_device();
  switch (pending_->command.verb) {
    case ModuleVerb::kResume:
      co_return respond(fail(Code::kFailedPrecondition, "module '{}' is not quiesced, it is {}: {}", module_.name(),
                             to_string(module_.life.state()), module_.life.detail()));
    case ModuleVerb::kQuiesce: co_return respond(mark_quiesced());
    case ModuleVerb::kRestart: begin_restart(); co_return module_.life.forgive_failures();
  }
}

void ModuleCommands::execute_while_quiesced() {
  // An instance that resumes still knows the devices that it released one by one.
  if (!pending_->command.device.empty())
    return respond(fail(Code::kFailedPrecondition,
                        "module '{0}' is quiesced as a whole: 'cagectl module resume {0}' comes first",
                        module_.name()));
  switch (pending_->command.verb) {
    case ModuleVerb::kQuiesce: return respond({});  // the first operator and reason stay
    case ModuleVerb::kRestart:
      return respond(fail(Code::kFailedPrecondition, "{}", module_.life.usable().error().message));
    case ModuleVerb::kResume:
      if (auto cleared = unmark_quiesced(); !cleared)
        return respond(within(cleared.error(), "module '{}' stays quiesced", module_.name()));
      pending_->begun = true;
      module_.life.forgive_failures();
      log(LogLevel::kInfo, "module is resumed", {{"module", module_.name()}, {"by", pending_->command.by}});
  }
}

// No other caller gets the instance from here on.
Status ModuleCommands::mark_quiesced() {
  const ModuleCommand& command = pending_->command;
  if (auto written = module_.marks.set(module_.name(), {command.by, command.reason, module_.clock.wall()}); !written)
    return within(written.error(), "module '{}' is not quiesced: its mark cannot be written", module_.name());
  log(LogLevel::kInfo, "module is being quiesced",
      {{"module", module_.name()}, {"by", command.by}, {"reason", command.reason}});
  module_.life.set_quiesced(*module_.marks.find(module_.name()));
  return {};
}

Status ModuleCommands::unmark_quiesced() {
  Status cleared = module_.marks.clear(module_.name());
  if (cleared) module_.life.clear_quiesced();
  return cleared;
}

Task<void> ModuleCommands::quiesce_instance() {
  pending_->begun = true;
  if (auto marked = mark_quiesced(); !marked) co_return respond(marked);
  const Status freed = co_await free_hardware(pending_->deadline);
  if (!freed) {
    log(LogLevel::kWarn, "quiesce failed", {{"module", module_.name()}, {"error", freed.error().message}});
    if (auto cleared = unmark_quiesced(); !cleared) co_return respond(cleared);
    co_return respond(within_subject(freed.error(), module_.subject(), "is not quiesced, nothing changed"));
  }
  if (const auto left = instances_.leftovers().reason())
    co_return respond(
        fail(Code::kFailedPrecondition, "module '{}' was stopped and stays quiesced, but {}", module_.name(), *left));
  log(LogLevel::kInfo, "module is quiesced", {{"module", module_.name()}});
  respond({});
}

// Waits for open calls first. A module without quiesce is stopped, which frees the hardware as well.
Task<Status> ModuleCommands::free_hardware(Instant deadline) {
  co_await replacement_.join_retired(deadline);
  if (replacement_.any_retired())
    co_return fail(Code::kDeadlineExceeded, "the instance of module '{}' before the last change is still busy",
                   module_.name());
  if (auto finished = co_await module_.instance->finish_calls(deadline); !finished) co_return finished;
  if (!module_.identity->has_quiesce) {
    co_await instances_.release();
    co_return Status{};
  }
  const Status quiesced = co_await module_.instance->call(QuiesceCall{}, deadline);
  if (quiesced || module_.life.lost()) co_return quiesced;
  // The module may have freed part of the hardware: resume takes it back, and a discover must follow [R12].
  std::ignore = co_await module_.instance->call(ResumeCall{}, module_.stop_deadline());
  if (const Status listed = co_await instances_.discover(); !listed) devices_.list().request_rescan();
  co_await instances_.repeat_device_quiesces(module_.instance);
  co_return quiesced;
}

// -- one device ------------------------------------------------------------------------------------------------------

// Changes only the mark if there is no instance.
Task<void> ModuleCommands::execute_for_device() {
  pending_->begun = true;
  const ModuleVerb verb = pending_->command.verb;
  if (verb == ModuleVerb::kRestart)
    co_return respond(fail(Code::kInvalidArgument, "only a whole module can be restarted, not one of its devices"));
  auto mark = device_mark(pending_->command);
  if (!mark) co_return respond(std::unexpected(mark.error()));
  auto executing = verb == ModuleVerb::kQuiesce ? quiesce_device(std::move(*mark)) : resume_device(std::move(*mark));
  Status done = co_await std::move(executing);
  module_.changed(SupervisorEvent::kHealth);
  respond(std::move(done));
}

// Returns the mark of the device that the command names: its current mark, or a new one.
Result<QuiesceMark> ModuleCommands::device_mark(const ModuleCommand& command) const {
  for (const QuiesceMark& mark : module_.marks.of_devices(module_.name()))
    if (mark.device == command.device || mark.device_id == command.device) return mark;
  const auto device = devices_.find(command.device);
  if (!device) return std::unexpected(device.error());
  if (!device->parent_id.empty())
    return fail(Code::kFailedPrecondition, "device '{}' is a partition: name the device that it is a part of, '{}'",
                device->name, device->parent_id);
  return QuiesceMark{command.by, command.reason, module_.clock.wall(), device->id, device->name};
}

Task<Status> ModuleCommands::quiesce_device(QuiesceMark mark) {
  if (!module_.identity || !module_.identity->has(Family::kQuiesce))
    co_return fail(Code::kUnimplemented,
                   "module '{0}' cannot release one device alone; 'cagectl module quiesce {0}' releases all of them",
                   module_.name());
  const bool repeated =
      module_.marks.find(module_.name(), mark.device_id) != nullptr;  // the first operator and reason stay
  if (Status written = repeated ? Status{} : module_.marks.set(module_.name(), mark); !written)
    co_return within(written.error(), "device '{}' is not quiesced: its mark cannot be written", mark.device);
  module_.changed(SupervisorEvent::kHealth);
  if (!module_.life.usable()) co_return Status{};
  QuiesceDeviceCall quiesce{mark.device_id};
  const Status quiesced = co_await module_.instance->call(std::move(quiesce), pending_->deadline);
  if (quiesced) {
    log(LogLevel::kInfo, "device is quiesced",
        {{"module", module_.name()}, {"device", mark.device}, {"by", mark.by}, {"reason", mark.reason}});
    co_return Status{};
  }
  if (repeated || module_.life.lost())
    co_return within(quiesced.error(), "device '{}' stays quiesced, but may not be released: repeat the command",
                     mark.device);
  co_return co_await undo_device_quiesce(mark, quiesced.error());
}

// Resumes the device, because the module may have released a part of it.
Task<Status> ModuleCommands::undo_device_quiesce(QuiesceMark mark, Error why) {
  ResumeDeviceCall resume{mark.device_id};
  Status undone = co_await module_.instance->call(std::move(resume), module_.stop_deadline());
  if (undone) undone = module_.marks.clear(module_.name(), mark.device_id);
  devices_.list().request_rescan();
  if (undone) co_return within(why, "device '{}' is not quiesced, nothing changed", mark.device);
  co_return within(why, "device '{}' is not released and stays quiesced ({})", mark.device, undone.error().message);
}

Task<Status> ModuleCommands::resume_device(QuiesceMark mark) {
  if (!module_.marks.find(module_.name(), mark.device_id))
    co_return fail(Code::kFailedPrecondition, "device '{}' of module '{}' is not quiesced", mark.device,
                   module_.name());
  if (module_.life.usable()) {
    ResumeDeviceCall resume{mark.device_id};
    const Status resumed = co_await module_.instance->call(std::move(resume), pending_->deadline);
    if (!resumed) co_return within(resumed.error(), "device '{}' stays quiesced", mark.device);
  }
  if (auto cleared = module_.marks.clear(module_.name(), mark.device_id); !cleared)
    co_return within(cleared.error(), "device '{}' stays quiesced", mark.device);
  devices_.list().request_rescan();
  log(LogLevel::kInfo, "device is resumed",
      {{"module", module_.name()}, {"device", mark.device}, {"by", pending_->command.by}});
  co_return Status{};
}

}  // namespace cardcage
