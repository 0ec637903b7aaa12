#include "host/supervision/device_care.h"

#include "host/core/log.h"

namespace cardcage {
namespace {

// The first change of health is reported at once; further changes follow after this pause: a short one for a state,
// which listeners must process, and a longer one for a text.
constexpr Duration kStatePause = std::chrono::milliseconds(5), kTextPause = std::chrono::seconds(1);
// Polling interval for a device that waits for a reset, since no event reports that it is free.
constexpr Duration kHealInterval = std::chrono::seconds(1);
// Limit of a reset without a waiting caller.
constexpr Duration kHealLimit = std::chrono::minutes(2);
constexpr const char* kRemedy = "remedy";

}  // namespace

DeviceCare::DeviceCare(SupervisedModule& module, ModuleDevices& devices)
    : module_(module),
      devices_(devices),
      statements_(devices.statements()),
      states_told_(module.core, module.clock, kStatePause, [this] { module_.changed(SupervisorEvent::kHealth); }),
      texts_told_(module.core, module.clock, kTextPause, [this] { module_.changed(SupervisorEvent::kHealthText); }),
      due_(module.core, module.clock),
      healing_(module.core, module.clock),
      resets_(module.core) {}

// Rules that do not fit the module's declarations are refused together: the previous rules stay in force, or at first
// the module's own. A device with wrong rules is better than none.
void DeviceCare::update_rules() {
  static const std::vector<CauseDeclaration> kNone;
  const auto& declared = module_.identity ? module_.identity->causes : kNone;
  const bool has_reset = !module_.identity || module_.identity->has(Family::kReset);
  auto rules = HealthRules::make(declared, has_reset, module_.life.config().health);
  rules_refused_.reset();
  if (!rules) {
    rules_refused_ = Error{Code::kInvalidArgument, "health rules are refused: " + rules.error().to_string()};
    log(LogLevel::kError, "health rules of a module are refused; those before stay in force",
        {{"module", module_.name()}, {"error", rules.error().to_string()}});
    if (!statements_.rules().all().empty()) return;
    rules = HealthRules::make(declared, has_reset, {});
  }
  tell(statements_.set_rules(std::move(*rules)));
}

void DeviceCare::tell(HealthNews news) {
  set_timer();
  if (news == HealthNews::kState) states_told_.request();
  if (news == HealthNews::kText) texts_told_.request();
  if (news == HealthNews::kState) heal();
}

// A timer of its own: a call of the module may block the loop of run().
void DeviceCare::set_timer() {
  const Instant due = statements_.due();
  if (due_.pending() && timer_ <= due) return;
  timer_ = due;
  if (due == Instant::max()) return;
  due_.call_at(due, [this] { tell(statements_.advance()); });
}

Task<Result<std::string>> DeviceCare::execute(DeviceCommand command) {
  auto device = devices_.find(command.device);
  if (!device) {
    // A device that is gone may have an obsolete cordon or cause.
    auto absent = statements_.find_device(command.device);
    const bool is_end = command.verb == DeviceVerb::kUncordon || command.verb == DeviceVerb::kClear;
    if (!absent || !is_end) co_return std::unexpected(device.error());
    device = *std::move(absent);
  }
  switch (command.verb) {
    case DeviceVerb::kCordon: co_return co_await cordon(std::move(command), *std::move(device));
    case DeviceVerb::kUncordon: co_return co_await uncordon(std::move(command), *std::move(device));
    case DeviceVerb::kReset: co_return co_await reset(std::move(command), *std::move(device));
    case DeviceVerb::kClear: break;
  }
  if (auto cleared = statements_.clear(device->id, command.cause, command.by, command.reason); !cleared)
    co_return within(cleared.error(), "device '{}'", device->name);
  tell(HealthNews::kState);
  co_return fmt::format("cause '{}' of device '{}' is over until the module states it again", command.cause,
                        device->name);
}

Task<Result<std::string>> DeviceCare::cordon(DeviceCommand command, Device device) {
  if (const CordonRecord* const before = statements_.find_cordon(device.id))
    co_return fmt::format("device '{}' is cordoned already, by {}", device.name, before->by);
  CordonRecord record{.device = {module_.name(), device.id},
                      .name = device.name,
                      .by = command.by,
                      .reason = command.reason,
                      .since = module_.clock.wall()};
  const Status done = co_await statements_.cordon(std::move(record));
  if (!done) co_return within(done.error(), "device '{}' is not cordoned", device.name);
  tell(HealthNews::kState);
  co_return fmt::format("device '{0}' is cordoned: no new pod gets it until 'cagectl device uncordon {0}'",
                        device.name);
}

Task<Result<std::string>> DeviceCare::uncordon(DeviceCommand command, Device device) {
  if (!statements_.find_cordon(device.id))
    co_return fail(Code::kFailedPrecondition, "device '{}' is not cordoned", device.name);
  const Status done = co_await statements_.uncordon(device.id, command.by, command.reason);
  if (!done) co_return within(done.error(), "device '{}' stays cordoned", device.name);
  tell(HealthNews::kState);
  co_return fmt::format("device '{}' is not cordoned any more", device.name);
}

Task<Result<std::string>> DeviceCare::reset(DeviceCommand command, Device device) {
  const auto instance = module_.usable();
  if (!instance) co_return std::unexpected(instance.error());
  if (!module_.identity->has(Family::kReset))
    co_return fail(Code::kUnimplemented, "module '{}' cannot reset devices", module_.name());
  if (!device.parent_id.empty())
    co_return fail(Code::kFailedPrecondition, "device '{}' is a partition: name the device that it is a part of, '{}'",
                   device.name, device.parent_id);
  if (!devices_.being_reset().empty())
    co_return fail(Code::kAborted, "device '{}' is being reset; try again when that is done", devices_.being_reset());
  if (const std::string why = devices_.why_withheld(device); !why.empty())
    co_return fail(Code::kFailedPrecondition, "device '{}' is not reset: {}", device.name, why);
  if (const std::string holders = module_.holders(device); !holders.empty() && !command.force)
    co_return fail(Code::kFailedPrecondition,
                   "device '{}' is held by {}, whose work a reset would end: wait for it, or repeat with --force",
                   device.name, holders);
  // The module may be removed while the reset runs.
  const OneShot<Status> done(module_.core);
  const std::string name = device.name;
  resets_.spawn(run_reset(std::move(command), std::move(device), done));
  const Status outcome = co_await done.wait();
  if (!outcome) co_return within(outcome.error(), "device '{}' is not reset", name);
  co_return fmt::format("device '{}' is reset", name);
}

Task<void> DeviceCare::run_reset(DeviceCommand command, Device device, OneShot<Status> done) {
  const auto instance = module_.instance;
  devices_.set_being_reset(device.id);  // from now on claims cannot get it
  const Status counted = co_await statements_.count_reset(device.id);
  if (!counted && command.by == kRemedy) {
    log_limited(LogLevel::kWarn, "reset " + module_.name(),
                "a device is not reset yet: the attempt cannot be written down",
                {{"module", module_.name()}, {"device", device.name}, {"error", counted.error().message}});
    devices_.set_being_reset("");
    co_return done.set(counted);
  }
  log(LogLevel::kInfo, "device is being reset",
      {{"module", module_.name()}, {"device", device.name}, {"by", command.by}, {"reason", command.reason}});
  module_.changed(SupervisorEvent::kHealth);
  ResetCall reset{device.id};
  const Status outcome = co_await instance->call(std::move(reset), module_.clock.now() + command.limit);
  devices_.set_being_reset("");
  if (!outcome)
    log(LogLevel::kError, "reset failed",
        {{"module", module_.name()}, {"device", device.name}, {"error", outcome.error().message}});
  statements_.note_reset(device.id, command.by, command.reason, outcome);
  // The hardware may have lost its partitions, and has other counters.
  devices_.list().request_rescan();
  check_requested_ = true;
  module_.wakeup.wake();
  tell(HealthNews::kState);
  done.set(outcome);
}

void DeviceCare::heal() {
  if (healing_.pending() || module_.life.stop_requested()) return;
  const auto wanted = statements_.resets_wanted();
  if (wanted.empty()) return;
  healing_.call_after(kHealInterval, [this] { heal(); });
  if (!devices_.being_reset().empty() || !module_.life.usable() || !module_.identity->has(Family::kReset)) return;
  for (const std::string& id : wanted) {
    const Device* const device = devices_.snapshot() ? devices_.snapshot()->find(id) : nullptr;
    if (!device || !devices_.why_withheld(*device).empty() || !module_.holders(*device).empty()) continue;
    DeviceCommand command{.verb = DeviceVerb::kReset, .by = kRemedy, .limit = kHealLimit};
    command.reason = statements_.health(*device).health.message;
    return resets_.spawn(run_reset(std::move(command), *device, OneShot<Status>(module_.core)));
  }
}

Task<void> DeviceCare::stop() {
  healing_.cancel();
  co_await resets_.join(module_.clock, Instant::max());
}

}  // namespace cardcage
