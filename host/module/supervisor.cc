#include "host/module/supervisor.h"

#include <algorithm>
#include <utility>

#include "host/module/snapshot_sink.h"

namespace cardcage {
namespace {

constexpr Duration kFirstBackOff = std::chrono::seconds(1);
constexpr Duration kLongestBackOff = std::chrono::minutes(5);
// A module that ran this long starts over with the first back-off.
constexpr Duration kProven = std::chrono::minutes(10);
// Polls a module that has check(), and notices devices that fell silent.
constexpr Duration kHealthInterval = std::chrono::seconds(30);
// A burst of rescan requests (a bus re-enumerates) costs one discover.
constexpr Duration kRescanQuiet = std::chrono::milliseconds(20);

// A device that nobody has reported yet is no news; one that is bad from the start is.
void log_health(const std::string& module, const std::string& device, HealthState before, const Health& now) {
  if (now.state == before || (now.state == HealthState::kHealthy && before == HealthState::kUnknown)) return;
  if (now.state == HealthState::kHealthy)
    return log_limited(LogLevel::kInfo, fmt::format("{} {} healthy", module, device), "device is healthy again",
                       {{"module", module}, {"device", device}});
  const bool bad = now.state == HealthState::kUnhealthy;
  log_limited(LogLevel::kWarn, fmt::format("{} {} {}", module, device, bad ? "unhealthy" : "unknown"),
              bad ? "device is unhealthy" : "health of the device is unknown",
              {{"module", module}, {"device", device}, {"reason", now.reason}, {"message", now.message}});
}

}  // namespace

std::string to_string(ModuleState state) {
  switch (state) {
    case ModuleState::kStarting: return "starting";
    case ModuleState::kReady: return "ready";
    case ModuleState::kBackingOff: return "backing off";
    case ModuleState::kStopped: return "stopped";
  }
  return "unknown";
}

Supervisor::Supervisor(ModuleConfig config, DeadlineConfig deadlines, Loader loader, asio::io_context& core,
                       Clock& clock, Listener listener)
    : config_(std::move(config)),
      deadlines_(deadlines),
      loader_(std::move(loader)),
      clock_(clock),
      listener_(std::move(listener)),
      since_(clock.wall()),
      wakeup_(core),
      ended_(core) {}

Task<void> Supervisor::run() {
  Duration back_off = kFirstBackOff;
  while (!stopping_) {
    enter(ModuleState::kStarting);
    const Instant started = clock_.now();
    lost_.reset();
    auto status = co_await start_instance();
    settled_ = true;
    if (status) {
      last_error_.reset();
      log(LogLevel::kInfo, "module is ready",
          {{"module", config_.name}, {"devices", std::to_string(snapshot_->devices.size())}});
      enter(ModuleState::kReady);
      co_await serve();
    } else {
      lost_ = status.error();
    }
    if (stopping_) break;

    if (clock_.now() - started > kProven) back_off = kFirstBackOff;
    last_error_ = lost_;
    log(LogLevel::kError, "module is away",
        {{"module", config_.name},
         {"error", last_error_->message},
         {"retry_in", fmt::format("{} s", std::chrono::duration_cast<std::chrono::seconds>(back_off).count())}});
    enter(ModuleState::kBackingOff);
    co_await release();
    ++restarts_;
    const Instant retry = clock_.now() + back_off;
    while (!stopping_ && !renew_ && clock_.now() < retry) co_await wakeup_.wait_until(clock_, retry);
    if (renew_)
      back_off = kFirstBackOff;
    else
      back_off = std::min(back_off * 2, kLongestBackOff);
  }
  co_await release();
  enter(ModuleState::kStopped);
  ended_.set(true);
}

Task<void> Supervisor::stop() {
  if (state_ == ModuleState::kStopped) co_return;
  stopping_ = true;
  wakeup_.wake();
  co_await ended_.wait();
}

void Supervisor::renew() {
  renew_ = true;
  wakeup_.wake();
}

void Supervisor::configure(ModuleConfig config, DeadlineConfig deadlines) {
  deadlines_ = deadlines;
  config_.serve = config.serve;
  config_.position = config.position;
  if (same_instance(config, config_)) {
    config_.options = std::move(config.options);  // they may stand in other lines
    if (refused_ && last_error_ == refused_) last_error_.reset();
    wanted_.reset();
    refused_.reset();
    return;
  }
  if (wanted_ && same_instance(*wanted_, config)) {
    wanted_->serve = std::move(config.serve);
    return;
  }
  wanted_ = std::move(config);
  refused_.reset();
  renew();
}

void Supervisor::drain(std::string why) {
  if (draining_ == why) return;
  log(LogLevel::kInfo, why.empty() ? "module is taken back" : "module drains",
      {{"module", config_.name}, {"why", why.empty() ? draining_ : why}});
  draining_ = std::move(why);
  listener_.changed(*this);
}

void Supervisor::let_go() {
  if (draining_.empty() || !module_) return;
  lost_ = Error{Code::kUnavailable, draining_};
  wakeup_.wake();
}

// Of the running instance, or of one that may become it.
ModuleEvents Supervisor::events(const std::shared_ptr<Module>& instance) {
  const std::weak_ptr<Module> which = instance;
  ModuleEvents events;
  events.rescan = [this] {
    rescan_ = true;
    wakeup_.wake();
  };
  events.health = [this, which](const std::string& id, const Health& health) {
    if (which.lock() == module_) return note_health(id, health);
    keep_for_later(id, health);
  };
  events.lost = [this, which](Error error) {
    if (which.lock() != module_) return;
    lost_ = std::move(error);
    wakeup_.wake();
  };
  return events;
}

Task<Status> Supervisor::start_instance() {
  // Nothing runs that would be better off with the old one.
  if (std::exchange(renew_, false) && wanted_) {
    config_ = *std::exchange(wanted_, std::nullopt);
    refused_.reset();
  }
  auto loaded = co_await loader_(config_, clock_.now() + deadlines_.start);
  if (!loaded) co_return std::unexpected(loaded.error());
  module_ = *loaded;
  identity_ = module_->identity();

  auto started = co_await module_->start(events(module_), clock_.now() + deadlines_.start);
  if (!started) co_return within(started.error(), "module '{}' does not start", config_.name);

  auto discovered = co_await discover();
  if (!discovered) co_return discovered;
  // From here on others may call it: they queue behind reconcile, which the claims they add cannot be part of.
  offered_ = true;
  listener_.changed(*this);
  co_return co_await reconcile();
}

Task<Status> Supervisor::reconcile() {
  auto reconciled = co_await module_->reconcile(listener_.live_claims(config_.name), clock_.now() + deadlines_.start);
  if (!reconciled) co_return within(reconciled.error(), "module '{}' cannot reconcile its claims", config_.name);
  co_return Status{};
}

// Ends when the instance is lost or to be stopped.
Task<void> Supervisor::serve() {
  Instant next_check = clock_.now() + kHealthInterval;
  while (!stopping_ && !lost_) {
    if (std::exchange(renew_, false)) {
      co_await replace();
      continue;
    }
    if (rescan_) {
      co_await clock_.sleep_for(kRescanQuiet);
      rescan_ = false;
      if (auto discovered = co_await discover(); !discovered && !lost_) {
        last_error_ = discovered.error();
        log(LogLevel::kWarn, "discover failed; the last device list stays",
            {{"module", config_.name}, {"error", discovered.error().message}});
      }
      continue;
    }
    if (clock_.now() >= next_check) {
      next_check = clock_.now() + kHealthInterval;
      co_await check_devices();
      continue;
    }
    co_await wakeup_.wait_until(clock_, next_check);
  }
}

Task<void> Supervisor::check_devices() {
  const SnapshotPtr snapshot = snapshot_;
  if (identity_->has_check) {
    for (const Device& device : snapshot->devices) {
      if (stopping_ || lost_) co_return;
      auto checked = co_await module_->check(device.id, clock_.now() + deadlines_.discover);
      if (!checked) {
        log_limited(LogLevel::kWarn, config_.name + "/check", "health check failed",
                    {{"module", config_.name}, {"device", device.id}, {"error", checked.error().message}});
      }
    }
  }
  const auto silent = [this](const Device& device) {
    const auto entry = health_.find(device.id);
    return entry != health_.end() && entry->second.health.timeout.count() > 0 &&
           clock_.now() - entry->second.reported > entry->second.health.timeout;
  };
  if (std::ranges::any_of(snapshot->devices, silent)) listener_.changed(*this);
}

Task<Status> Supervisor::discover() {
  discovering_ = true;
  auto snapshot = co_await module_->discover(clock_.now() + deadlines_.discover);
  discovering_ = false;
  if (!snapshot) {
    heard_.clear();
    co_return within(snapshot.error(), "module '{}' cannot list its devices", config_.name);
  }
  adopt(std::move(*snapshot));
  co_return Status{};
}

void Supervisor::adopt(SnapshotPtr snapshot) {
  for (const Device& device : snapshot->devices) {
    // What was pushed since stays: a module may learn of health from events only.
    if (device.health != Health{} || !health_.contains(device.id)) set_health(device.id, device.health);
  }
  std::erase_if(health_, [&](const auto& entry) { return !snapshot->find(entry.first); });
  const bool changed = !snapshot_ || *snapshot_ != *snapshot;
  snapshot_ = std::move(snapshot);
  bool news = changed;
  for (const auto& [device_id, health] : std::exchange(heard_, {}))
    if (snapshot_->find(device_id)) news |= set_health(device_id, health);
  if (!offered_) return;
  if (changed)
    log_limited(LogLevel::kInfo, config_.name + "/devices", "device list changed",
                {{"module", config_.name}, {"devices", std::to_string(snapshot_->devices.size())}});
  if (news) listener_.changed(*this);
}

// -- another build of the module, or another configuration
// -------------------------------------------------------------

Task<void> Supervisor::replace() {
  const std::optional<ModuleConfig> wanted = wanted_;
  const ModuleConfig next = wanted.value_or(config_);
  refused_.reset();
  auto loaded = co_await loader_(next, clock_.now() + deadlines_.start);
  if (!loaded) co_return refuse(loaded.error());
  if (!wanted && (*loaded)->identity().sha256 == identity_->sha256) co_return;  // touched, not changed
  auto devices = co_await try_out(*loaded);
  const bool outdated = wanted_.has_value() != wanted.has_value() || (wanted && !same_instance(*wanted, *wanted_));
  if (devices && !outdated) {
    if (wanted_) config_ = *std::exchange(wanted_, std::nullopt);
    co_return co_await take_over(std::move(*loaded), std::move(*devices));
  }
  heard_.clear();
  std::ignore = co_await (*loaded)->stop(clock_.now() + deadlines_.stop);
  if (!outdated) refuse(devices.error());
}

void Supervisor::refuse(const Error& error) {
  const std::string what = wanted_ ? "configuration" : "file";
  last_error_ = within(error, "the new {} of module '{}' is not taken over", what, config_.name).error();
  if (wanted_) refused_ = last_error_;
  log(LogLevel::kError, fmt::format("the new {} of a module is not taken over; the old one goes on", what),
      {{"module", config_.name}, {"error", error.message}});
  listener_.changed(*this);
}

Task<Result<SnapshotPtr>> Supervisor::try_out(std::shared_ptr<Module> next) {
  auto started = co_await next->start(events(next), clock_.now() + deadlines_.start);
  if (!started) co_return std::unexpected(started.error());
  co_return co_await next->discover(clock_.now() + deadlines_.discover);
}

// From the first line on calls go to the new one, where they queue behind its reconcile; the old one ends what it has.
Task<void> Supervisor::take_over(std::shared_ptr<Module> next, SnapshotPtr devices) {
  if (listener_.fault) listener_.fault(FaultPoint::kBeforeTakeOver);
  const auto old = std::exchange(module_, std::move(next));
  const bool other_file = module_->identity().sha256 != identity_->sha256;
  log(LogLevel::kInfo, fmt::format("a new {} of the module is taken over", other_file ? "file" : "configuration"),
      {{"module", config_.name}, {"version", module_->identity().version}, {"before", identity_->version}});
  identity_ = module_->identity();
  lost_.reset();
  last_error_.reset();
  adopt(std::move(devices));
  enter(ModuleState::kReady);
  if (auto reconciled = co_await reconcile(); !reconciled) lost_ = reconciled.error();
  co_await let_go_of(old);
  if (listener_.fault) listener_.fault(FaultPoint::kAfterTakeOver);
}

Task<void> Supervisor::release() {
  offered_ = false;
  heard_.clear();
  if (!module_) co_return;
  co_await let_go_of(std::exchange(module_, nullptr));
}

Task<void> Supervisor::let_go_of(std::shared_ptr<Module> instance) {
  const auto stopped = co_await instance->stop(clock_.now() + deadlines_.stop);
  if (!stopped)
    log(LogLevel::kWarn, "module did not stop well", {{"module", config_.name}, {"error", stopped.error().message}});
}

void Supervisor::enter(ModuleState state) {
  state_ = state;
  since_ = clock_.wall();
  listener_.changed(*this);
}

Result<std::shared_ptr<Module>> Supervisor::module() const {
  if (offered_ && !lost_) return module_;
  const std::string why = lost_ ? lost_->message : last_error_ ? last_error_->message : "it has not started yet";
  return fail(Code::kUnavailable, "module '{}' is {}: {}", config_.name, to_string(state_), why);
}

DeviceHealth Supervisor::health(const Device& device) const {
  const auto entry = health_.find(device.id);
  DeviceHealth known = entry != health_.end() ? entry->second : DeviceHealth{};
  if (!offered_ || lost_) {
    const Error* why = lost_ ? &*lost_ : last_error_ ? &*last_error_ : nullptr;
    known.health = Health{.reason = "ModuleAway", .message = why ? why->message : "the module is not running"};
    known.changed = since_;
  } else if (known.health.timeout.count() > 0 && clock_.now() - known.reported > known.health.timeout) {
    known.health = Health{.reason = "Silent",
                          .message = fmt::format("no report for more than {} s", known.health.timeout.count())};
  }
  return known;
}

bool Supervisor::set_health(const std::string& device_id, Health health) {
  DeviceHealth& entry = health_[device_id];
  entry.reported = clock_.now();
  if (entry.health == health && entry.changed.time_since_epoch().count() != 0) return false;
  log_health(config_.name, device_id, entry.health.state, health);
  entry.health = std::move(health);
  entry.changed = clock_.wall();
  return true;
}

void Supervisor::keep_for_later(const std::string& device_id, const Health& health) {
  if (heard_.size() < kMaxDevices || heard_.contains(device_id)) heard_.insert_or_assign(device_id, health);
}

void Supervisor::note_health(const std::string& device_id, Health health) {
  const bool listed = snapshot_ && snapshot_->find(device_id);
  if (discovering_ || !listed) keep_for_later(device_id, health);
  if (listed && set_health(device_id, std::move(health))) listener_.changed(*this);
  if (!listed && snapshot_ && !discovering_)
    log_limited(LogLevel::kWarn, config_.name + "/unknown-device",
                "health of a device that is not listed waits for the next discover",
                {{"module", config_.name}, {"device", device_id}});
}

}  // namespace cardcage
