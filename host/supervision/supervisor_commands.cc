// Executes the commands of operators.
#include <algorithm>

#include "host/core/log.h"
#include "host/core/subject.h"
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

std::string subject_of(const ModuleCommand& command) {
  return command.device.empty() ? fmt::format("module '{}'", command.module)
                                : fmt::format("device '{}' of module '{}'", command.device, command.module);
}

}  // namespace

Task<Status> Supervisor::execute(ModuleCommand command) {
  const ModuleVerb verb = command.verb;
  if (life_.stop_requested())
    co_return fail(Code::kUnavailable, "module '{}' is stopped: the daemon ends", config().name);
  if (order_)
    co_return fail(Code::kAborted, "{} is being {}; try again when that is done", subject_of(order_->command),
                   participle(order_->command.verb));
  const OneShot<Status> done(core_);
  const Instant deadline = clock_.now() + command.limit;
  order_ = Order{std::move(command), deadline, done};
  wakeup_.wake();
  std::optional<Status> outcome = co_await done.wait_until(clock_, deadline);
  if (outcome) co_return std::move(*outcome);
  // Without an outcome the command is still ours, and the supervisor has not ended.
  if (!order_->begun) {
    const std::string subject = subject_of(std::exchange(order_, std::nullopt)->command);
    co_return fail(Code::kDeadlineExceeded, "{} is not {}: the module was still {} at the deadline; nothing changed",
                   subject, participle(verb), to_string(state()));
  }
  // The calls of these commands have the same deadline.
  if (verb == ModuleVerb::kQuiesce || !order_->command.device.empty()) co_return co_await done.wait();
  co_return fail(Code::kDeadlineExceeded,
                 "module '{}' is {} and still starting; 'cagectl modules' shows how it goes on", config().name,
                 participle(verb));
}

void Supervisor::respond(Status outcome) {
  const Order order = *std::exchange(order_, std::nullopt);
  order.done.set(std::move(outcome));
}

Task<bool> Supervisor::execute_while_ready() {
  if (!order_->command.device.empty()) {
    co_await execute_for_device();
    co_return true;
  }
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

// Without an instance a quiesce has nothing to stop, and a resume nothing to resume.
Task<void> Supervisor::execute_while_away() {
  if (!order_->command.device.empty()) co_return co_await execute_for_device();
  switch (order_->command.verb) {
    case ModuleVerb::kResume:
      co_return respond(fail(Code::kFailedPrecondition, "module '{}' is not quiesced, it is {}: {}", config().name,
                             to_string(state()), life_.detail()));
    case ModuleVerb::kQuiesce: co_return respond(mark_quiesced());
    case ModuleVerb::kRestart: begin_restart(); co_return life_.forgive_failures();
  }
}

void Supervisor::execute_while_quiesced() {
  // An instance that resumes still knows the devices that it released one by one.
  if (!order_->command.device.empty())
    return respond(fail(Code::kFailedPrecondition,
                        "module '{0}' is quiesced as a whole: 'cagectl module resume {0}' comes first", config().name));
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

// No other caller gets the instance from here on.
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
    co_return respond(within_subject(freed.error(), subject(), "is not quiesced, nothing changed"));
  }
  if (const auto left = leftovers_.reason())
    co_return respond(
        fail(Code::kFailedPrecondition, "module '{}' was stopped and stays quiesced, but {}", config().name, *left));
  log(LogLevel::kInfo, "module is quiesced", {{"module", config().name}});
  respond({});
}

// -- one device ------------------------------------------------------------------------------------------------------

// Changes only the mark if there is no instance.
Task<void> Supervisor::execute_for_device() {
  order_->begun = true;
  const ModuleVerb verb = order_->command.verb;
  if (verb == ModuleVerb::kRestart)
    co_return respond(fail(Code::kInvalidArgument, "only a whole module can be restarted, not one of its devices"));
  auto mark = device_mark(order_->command);
  if (!mark) co_return respond(std::unexpected(mark.error()));
  auto executing = verb == ModuleVerb::kQuiesce ? quiesce_device(std::move(*mark)) : resume_device(std::move(*mark));
  Status done = co_await std::move(executing);
  listener_.changed(*this);
  respond(std::move(done));
}

// Returns the mark of the device that the command names: its current mark, or a new one.
Result<QuiesceMark> Supervisor::device_mark(const ModuleCommand& command) const {
  for (const QuiesceMark& mark : marks_.of_devices(config().name))
    if (mark.device == command.device || mark.device_id == command.device) return mark;
  const auto is_meant = [&](const Device& device) {
    return device.name == command.device || device.id == command.device;
  };
  const std::vector<Device> none;
  const std::vector<Device>& devices = snapshot() ? snapshot()->devices : none;
  const auto device = std::ranges::find_if(devices, is_meant);
  if (device == devices.end())
    return fail(Code::kNotFound, "module '{}' has no device '{}'; 'cagectl devices' lists them", config().name,
                command.device);
  if (!device->parent_id.empty())
    return fail(Code::kFailedPrecondition, "device '{}' is a partition: name the device that it is a part of, '{}'",
                device->name, device->parent_id);
  return QuiesceMark{command.by, command.reason, clock_.wall(), device->id, device->name};
}

Task<Status> Supervisor::quiesce_device(QuiesceMark mark) {
  if (!identity_ || !identity_->has(Family::kQuiesce))
    co_return fail(Code::kUnimplemented,
                   "module '{0}' cannot release one device alone; 'cagectl module quiesce {0}' releases all of them",
                   config().name);
  const bool repeated = marks_.find(config().name, mark.device_id) != nullptr;  // the first operator and reason stay
  if (Status written = repeated ? Status{} : marks_.set(config().name, mark); !written)
    co_return within(written.error(), "device '{}' is not quiesced: its mark cannot be written", mark.device);
  listener_.changed(*this);
  if (!life_.usable()) co_return Status{};
  QuiesceDeviceCall quiesce{mark.device_id};
  const Status quiesced = co_await module_->call(std::move(quiesce), order_->deadline);
  if (quiesced) {
    log(LogLevel::kInfo, "device is quiesced",
        {{"module", config().name}, {"device", mark.device}, {"by", mark.by}, {"reason", mark.reason}});
    co_return Status{};
  }
  if (repeated || life_.lost())
    co_return within(quiesced.error(), "device '{}' stays quiesced, but may not be released: repeat the command",
                     mark.device);
  co_return co_await undo_device_quiesce(mark, quiesced.error());
}

// Resumes the device, because the module may have released a part of it.
Task<Status> Supervisor::undo_device_quiesce(QuiesceMark mark, Error why) {
  ResumeDeviceCall resume{mark.device_id};
  Status undone = co_await module_->call(std::move(resume), clock_.now() + deadlines_.stop);
  if (undone) undone = marks_.clear(config().name, mark.device_id);
  devices_.request_rescan();
  if (undone) co_return within(why, "device '{}' is not quiesced, nothing changed", mark.device);
  co_return within(why, "device '{}' is not released and stays quiesced ({})", mark.device, undone.error().message);
}

Task<Status> Supervisor::resume_device(QuiesceMark mark) {
  if (!marks_.find(config().name, mark.device_id))
    co_return fail(Code::kFailedPrecondition, "device '{}' of module '{}' is not quiesced", mark.device, config().name);
  if (life_.usable()) {
    ResumeDeviceCall resume{mark.device_id};
    const Status resumed = co_await module_->call(std::move(resume), order_->deadline);
    if (!resumed) co_return within(resumed.error(), "device '{}' stays quiesced", mark.device);
  }
  if (auto cleared = marks_.clear(config().name, mark.device_id); !cleared)
    co_return within(cleared.error(), "device '{}' stays quiesced", mark.device);
  devices_.request_rescan();
  log(LogLevel::kInfo, "device is resumed",
      {{"module", config().name}, {"device", mark.device}, {"by", order_->command.by}});
  co_return Status{};
}

Task<void> Supervisor::repeat_device_quiesces(std::shared_ptr<Module> instance) {
  if (!instance->identity().has(Family::kQuiesce)) co_return;
  for (const QuiesceMark& mark : marks_.of_devices(config().name)) {
    QuiesceDeviceCall quiesce{mark.device_id};
    const Status quiesced = co_await instance->call(std::move(quiesce), clock_.now() + deadlines_.discover);
    if (!quiesced)
      log(LogLevel::kWarn, "the new instance of a module may hold a device that is quiesced",
          {{"module", config().name}, {"device", mark.device}, {"error", quiesced.error().message}});
  }
}

// -- the whole module ------------------------------------------------------------------------------------------------

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
  const Status quiesced = co_await module_->call(QuiesceCall{}, deadline);
  if (quiesced || life_.lost()) co_return quiesced;
  // The module may have freed part of the hardware: resume takes it back, and a discover must follow [R12].
  std::ignore = co_await module_->call(ResumeCall{}, clock_.now() + deadlines_.stop);
  if (const Status listed = co_await discover(); !listed) devices_.request_rescan();
  co_await repeat_device_quiesces(module_);
  co_return quiesced;
}

}  // namespace cardcage
