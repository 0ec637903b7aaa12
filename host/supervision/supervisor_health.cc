// Judges and reports the health of devices, and heals them.
#include <algorithm>

#include "host/core/log.h"
#include "host/core/utf8.h"
#include "host/supervision/supervisor.h"

namespace cardcage {
namespace {

// Polling interval for a device that waits for a reset, since no event reports that it is free.
constexpr Duration kHealInterval = std::chrono::seconds(1);
// Limit of a reset without a waiting caller.
constexpr Duration kHealLimit = std::chrono::minutes(2);
constexpr const char* kRemedy = "remedy";

CauseHealth reset_health(const Device& device, std::chrono::system_clock::time_point now) {
  return {.health = {.reason = "Resetting",
                     .message = fmt::format("device '{}' is being reset", device.name),
                     .taint = TaintEffect::kNoSchedule,
                     .cause = "Reset"},
          .changed = now};
}

}  // namespace

// Rules that do not fit the module's declarations are refused together: the previous rules stay in force, or at first
// the module's own. A device with wrong rules is better than none.
void Supervisor::update_rules() {
  static const std::vector<CauseDeclaration> kNone;
  const auto& declared = identity_ ? identity_->causes : kNone;
  const bool has_reset = !identity_ || identity_->has(Family::kReset);
  auto rules = HealthRules::make(declared, has_reset, config().health);
  rules_refused_.reset();
  if (!rules) {
    rules_refused_ = Error{Code::kInvalidArgument, "health rules are refused: " + rules.error().to_string()};
    log(LogLevel::kError, "health rules of a module are refused; those before stay in force",
        {{"module", config().name}, {"error", rules.error().to_string()}});
    if (!health_.rules().all().empty()) return;
    rules = HealthRules::make(declared, has_reset, {});
  }
  tell_health(health_.set_rules(std::move(*rules)));
}

void Supervisor::tell_health(HealthNews news) {
  set_health_timer();
  if (news == HealthNews::kState) states_told_.request();
  if (news == HealthNews::kText) texts_told_.request();
  if (news == HealthNews::kState) heal_devices();
}

// A timer of its own: a call of the module may block the loop of run().
void Supervisor::set_health_timer() {
  const Instant due = health_.due();
  if (health_due_.pending() && health_timer_ <= due) return;
  health_timer_ = due;
  if (due == Instant::max()) return;
  health_due_.call_at(due, [this] { tell_health(health_.advance()); });
}

// Lasts until the other device is released: its claim has the health of the name, and its containers may reach this
// device.
std::optional<CauseHealth> Supervisor::health_while_replaced(const Device& device) const {
  if (!listener_.replaced) return std::nullopt;
  std::string why = listener_.replaced(config().name, device);
  const Device* const whole = snapshot() ? snapshot()->find(device.parent_id) : nullptr;
  if (why.empty() && whole) why = listener_.replaced(config().name, *whole);
  if (why.empty()) return std::nullopt;
  return CauseHealth{.health = {.state = HealthState::kUnhealthy,
                                .reason = "Replaced",
                                .message = cut_utf8(why, kMaxHealthMessage),
                                .taint = TaintEffect::kNoSchedule,
                                .cause = "Replaced"},
                     .changed = health_.health(device).changed};
}

DeviceHealth Supervisor::health(const Device& device, std::optional<CauseHealth> away) const {
  std::vector<CauseHealth> others;
  const bool is_away = away.has_value();
  if (away) others.push_back(*std::move(away));
  if (auto stuck = health_while_stuck(device)) others.push_back(*std::move(stuck));
  if (auto replaced = health_while_replaced(device)) others.push_back(*std::move(replaced));
  if (is_being_reset(device)) others.push_back(reset_health(device, clock_.wall()));
  return health_.health(device, std::move(others), is_away);
}

DeviceHealth Supervisor::health(const Device& device) const {
  auto away = life_.quiesced() ? std::nullopt : health_while_quiesced(device);
  return health(device, away ? std::move(away) : life_.health_while_away());
}

DeviceHealth Supervisor::reported_health(const Device& device) const {
  return health(device, health_while_quiesced(device));
}

// -- operators -------------------------------------------------------------------------------------------------------

// Also finds an unlisted device whose partitions are listed.
Result<Device> Supervisor::find_device(const std::string& name_or_id) const {
  const Device* partition = nullptr;
  if (snapshot())
    for (const Device& device : snapshot()->devices) {
      if (device.name == name_or_id || device.id == name_or_id) return device;
      if (device.parent_id == name_or_id) partition = &device;
    }
  if (partition) return Device{.id = partition->parent_id, .name = partition->parent_id};
  return fail(Code::kNotFound, "module '{}' has no device '{}'; 'cagectl devices' lists them", config().name,
              name_or_id);
}

Task<Result<std::string>> Supervisor::execute(DeviceCommand command) {
  auto device = find_device(command.device);
  if (!device) {
    // A device that is gone may have an obsolete cordon or cause.
    auto absent = health_.find_device(command.device);
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
  if (auto cleared = health_.clear(device->id, command.cause, command.by, command.reason); !cleared)
    co_return within(cleared.error(), "device '{}'", device->name);
  tell_health(HealthNews::kState);
  co_return fmt::format("cause '{}' of device '{}' is over until the module states it again", command.cause,
                        device->name);
}

Task<Result<std::string>> Supervisor::cordon(DeviceCommand command, Device device) {
  if (const CordonRecord* const before = health_.find_cordon(device.id))
    co_return fmt::format("device '{}' is cordoned already, by {}", device.name, before->by);
  CordonRecord record{.device = {config().name, device.id},
                      .name = device.name,
                      .by = command.by,
                      .reason = command.reason,
                      .since = clock_.wall()};
  const Status done = co_await health_.cordon(std::move(record));
  if (!done) co_return within(done.error(), "device '{}' is not cordoned", device.name);
  tell_health(HealthNews::kState);
  co_return fmt::format("device '{0}' is cordoned: no new pod gets it until 'cagectl device uncordon {0}'",
                        device.name);
}

Task<Result<std::string>> Supervisor::uncordon(DeviceCommand command, Device device) {
  if (!health_.find_cordon(device.id))
    co_return fail(Code::kFailedPrecondition, "device '{}' is not cordoned", device.name);
  const Status done = co_await health_.uncordon(device.id, command.by, command.reason);
  if (!done) co_return within(done.error(), "device '{}' stays cordoned", device.name);
  tell_health(HealthNews::kState);
  co_return fmt::format("device '{}' is not cordoned any more", device.name);
}

// -- resets ----------------------------------------------------------------------------------------------------------

bool Supervisor::is_being_reset(const Device& device) const {
  return !being_reset_.empty() && (device.id == being_reset_ || device.parent_id == being_reset_);
}

Task<Result<std::string>> Supervisor::reset(DeviceCommand command, Device device) {
  const auto instance = module();
  if (!instance) co_return std::unexpected(instance.error());
  if (!identity_->has(Family::kReset))
    co_return fail(Code::kUnimplemented, "module '{}' cannot reset devices", config().name);
  if (!device.parent_id.empty())
    co_return fail(Code::kFailedPrecondition, "device '{}' is a partition: name the device that it is a part of, '{}'",
                   device.name, device.parent_id);
  if (!being_reset_.empty())
    co_return fail(Code::kAborted, "device '{}' is being reset; try again when that is done", being_reset_);
  if (const std::string why = why_withheld(device); !why.empty())
    co_return fail(Code::kFailedPrecondition, "device '{}' is not reset: {}", device.name, why);
  if (const std::string holders = listener_.holders(*this, device); !holders.empty() && !command.force)
    co_return fail(Code::kFailedPrecondition,
                   "device '{}' is held by {}, whose work a reset would end: wait for it, or repeat with --force",
                   device.name, holders);
  // The module may be removed while the reset runs.
  const OneShot<Status> done(core_);
  const std::string name = device.name;
  resets_.spawn(run_reset(std::move(command), std::move(device), done));
  const Status outcome = co_await done.wait();
  if (!outcome) co_return within(outcome.error(), "device '{}' is not reset", name);
  co_return fmt::format("device '{}' is reset", name);
}

Task<void> Supervisor::run_reset(DeviceCommand command, Device device, OneShot<Status> done) {
  const auto instance = module_;
  being_reset_ = device.id;  // from now on claims cannot get it
  const Status counted = co_await health_.count_reset(device.id);
  if (!counted && command.by == kRemedy) {
    log_limited(LogLevel::kWarn, "reset " + config().name,
                "a device is not reset yet: the attempt cannot be written down",
                {{"module", config().name}, {"device", device.name}, {"error", counted.error().message}});
    being_reset_.clear();
    co_return done.set(counted);
  }
  log(LogLevel::kInfo, "device is being reset",
      {{"module", config().name}, {"device", device.name}, {"by", command.by}, {"reason", command.reason}});
  listener_.changed(*this);
  ResetCall reset{device.id};
  const Status outcome = co_await instance->call(std::move(reset), clock_.now() + command.limit);
  being_reset_.clear();
  if (!outcome)
    log(LogLevel::kError, "reset failed",
        {{"module", config().name}, {"device", device.name}, {"error", outcome.error().message}});
  health_.note_reset(device.id, command.by, command.reason, outcome);
  // The hardware may have lost its partitions, and has other counters.
  devices_.request_rescan();
  check_soon_ = true;
  wakeup_.wake();
  tell_health(HealthNews::kState);
  done.set(outcome);
}

// Resets one free device that a rule requires to be reset, and schedules the next check.
void Supervisor::heal_devices() {
  if (healing_.pending() || life_.stop_requested()) return;
  const auto wanted = health_.resets_wanted();
  if (wanted.empty()) return;
  healing_.call_after(kHealInterval, [this] { heal_devices(); });
  if (!being_reset_.empty() || !life_.usable() || !identity_->has(Family::kReset)) return;
  for (const std::string& id : wanted) {
    const Device* const device = snapshot() ? snapshot()->find(id) : nullptr;
    if (!device || !why_withheld(*device).empty() || !listener_.holders(*this, *device).empty()) continue;
    DeviceCommand command{.verb = DeviceVerb::kReset, .by = kRemedy, .limit = kHealLimit};
    command.reason = health_.health(*device).health.message;
    return resets_.spawn(run_reset(std::move(command), *device, OneShot<Status>(core_)));
  }
}

}  // namespace cardcage
