#include "host/module/supervisor.h"

#include <algorithm>
#include <utility>

#include "host/core/log.h"

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
      devices_(config_.name, clock),
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
          {{"module", config_.name}, {"devices", std::to_string(snapshot()->devices.size())}});
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

// Of the running instance, or of one that may become it.
ModuleEvents Supervisor::events(const std::shared_ptr<Module>& instance) {
  const std::weak_ptr<Module> which = instance;
  ModuleEvents events;
  events.rescan = [this] {
    rescan_ = true;
    wakeup_.wake();
  };
  events.health = [this, which](const std::string& id, const Health& health) {
    if (which.lock() != module_) return devices_.keep_for_later(id, health);
    if (devices_.note(id, health)) listener_.changed(*this);
  };
  events.lost = [this, which](Error error) {
    if (which.lock() != module_) return;
    lost_ = std::move(error);
    wakeup_.wake();
  };
  return events;
}

Task<Status> Supervisor::start_instance() {
  renew_ = false;
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
  const SnapshotPtr listed = snapshot();
  if (identity_->has_check) {
    for (const Device& device : listed->devices) {
      if (stopping_ || lost_) co_return;
      auto checked = co_await module_->check(device.id, clock_.now() + deadlines_.discover);
      if (!checked) {
        log_limited(LogLevel::kWarn, config_.name + "/check", "health check failed",
                    {{"module", config_.name}, {"device", device.id}, {"error", checked.error().message}});
      }
    }
  }
  if (devices_.any_silent()) listener_.changed(*this);
}

Task<Status> Supervisor::discover() {
  devices_.expect();
  auto snapshot = co_await module_->discover(clock_.now() + deadlines_.discover);
  if (!snapshot) {
    devices_.failed();
    co_return within(snapshot.error(), "module '{}' cannot list its devices", config_.name);
  }
  adopt(std::move(*snapshot));
  co_return Status{};
}

void Supervisor::adopt(SnapshotPtr snapshot) {
  const ListedDevices::News news = devices_.adopt(std::move(snapshot));
  if (!offered_) return;
  if (news.list)
    log_limited(LogLevel::kInfo, config_.name + "/devices", "device list changed",
                {{"module", config_.name}, {"devices", std::to_string(devices_.snapshot()->devices.size())}});
  if (news.list || news.health) listener_.changed(*this);
}

// -- another build of the module --------------------------------------------------------------------------------------

Task<void> Supervisor::replace() {
  auto loaded = co_await loader_(config_, clock_.now() + deadlines_.start);
  if (!loaded) co_return refuse_file(loaded.error());
  if ((*loaded)->identity().sha256 == identity_->sha256) co_return;  // touched, not changed
  auto devices = co_await try_out(*loaded);
  if (devices) co_return co_await take_over(std::move(*loaded), std::move(*devices));
  devices_.forget_kept();
  std::ignore = co_await (*loaded)->stop(clock_.now() + deadlines_.stop);
  refuse_file(devices.error());
}

void Supervisor::refuse_file(const Error& error) {
  last_error_ = within(error, "the new file of module '{}' is not taken over", config_.name).error();
  log(LogLevel::kError, "the new file of a module is not taken over; the old one goes on",
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
  const auto old = std::exchange(module_, std::move(next));
  log(LogLevel::kInfo, "a new file of the module is taken over",
      {{"module", config_.name}, {"version", module_->identity().version}, {"before", identity_->version}});
  identity_ = module_->identity();
  lost_.reset();
  last_error_.reset();
  adopt(std::move(devices));
  enter(ModuleState::kReady);
  if (auto reconciled = co_await reconcile(); !reconciled) lost_ = reconciled.error();
  co_await let_go_of(old);
}

Task<void> Supervisor::release() {
  offered_ = false;
  devices_.forget_kept();
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
  DeviceHealth known = devices_.health(device.id);
  if (!offered_ || lost_) {
    const Error* why = lost_ ? &*lost_ : last_error_ ? &*last_error_ : nullptr;
    known.health = Health{.reason = "ModuleAway", .message = why ? why->message : "the module is not running"};
    known.changed = since_;
  }
  return known;
}

}  // namespace cardcage
