#include "host/supervision/supervisor.h"

#include <algorithm>
#include <utility>

#include "host/core/log.h"

namespace cardcage {
namespace {

// Polls a module that has check(), and notices devices that fell silent.
constexpr Duration kHealthInterval = std::chrono::seconds(30);
constexpr Duration kLookForLeftovers = std::chrono::seconds(1);
// A burst of rescan requests (a bus re-enumerates) costs one discover.
constexpr Duration kRescanQuiet = std::chrono::milliseconds(20);

}  // namespace

Supervisor::Supervisor(ModuleConfig config, DeadlineConfig deadlines, Loader loader, asio::io_context& core,
                       Clock& clock, QuiesceMarks& quiesced, Listener listener)
    : config_(std::move(config)),
      deadlines_(deadlines),
      loader_(std::move(loader)),
      core_(core),
      clock_(clock),
      quiesced_(quiesced),
      listener_(std::move(listener)),
      devices_(config_.name, clock),
      since_(clock.wall()),
      retry_(clock.now()),
      wakeup_(core),
      ended_(core) {}

Task<void> Supervisor::run() {
  while (!stopping_) {
    if (remains())
      co_await stay_stuck();
    else if (quiesced())
      co_await stay_quiesced();
    else if (clock_.now() < retry_ && !renew_)
      co_await rest();
    else
      co_await live();
  }
  if (order_) answer(fail(Code::kUnavailable, "module '{}' is stopped: the daemon ends", config_.name));
  co_await release();
  enter(ModuleState::kStopped);
  ended_.set(true);
}

// One instance, until it is lost or to be stopped. One that let go of its hardware is kept until it is told otherwise.
Task<void> Supervisor::live() {
  enter(ModuleState::kStarting);
  const Instant begun = clock_.now();
  const Status up = co_await bring_up();
  settled_ = true;
  if (up) {
    last_error_.reset();
    log(LogLevel::kInfo, "module is ready",
        {{"module", config_.name}, {"devices", std::to_string(snapshot()->devices.size())}});
    enter(ModuleState::kReady);
  } else {
    lost_ = up.error();
  }
  if (order_ && order_->begun) answer(up);
  if (up) co_await serve();
  if (lost_ && !stopping_) co_await back_off(begun);
}

void Supervisor::note_end() { last_end_ = ModuleEnd{clock_.wall(), lost_->message, last_lines()}; }

Task<void> Supervisor::back_off(Instant begun) {
  const Duration pause = policy_.failed(clock_.now(), clock_.now() - begun);
  last_error_ = lost_;
  note_end();
  log(LogLevel::kError, policy_.is_broken() ? "module is broken: it failed too often" : "module is away",
      {{"module", config_.name},
       {"error", last_error_->message},
       {"retry_in", fmt::format("{} s", std::chrono::duration_cast<std::chrono::seconds>(pause).count())}});
  enter(policy_.is_broken() ? ModuleState::kBroken : ModuleState::kBackingOff);
  co_await release();
  ++restarts_;
  retry_ = clock_.now() + pause;
}

Task<void> Supervisor::rest() {
  if (const auto state = policy_.is_broken() ? ModuleState::kBroken : ModuleState::kBackingOff; state_ != state)
    enter(state);  // after it was stuck
  while (!stopping_ && !renew_ && !quiesced() && clock_.now() < retry_) {
    if (order_)
      obey_while_away();
    else
      co_await wakeup_.wait_until(clock_, retry_);
  }
  if (renew_) policy_.forgive();
}

// What is left of the instance before may hold the hardware: two at a time would be worse than none. Nobody tells when
// it goes.
Task<void> Supervisor::stay_stuck() {
  enter(ModuleState::kStuck);
  log(LogLevel::kError, "module is stuck", {{"module", config_.name}, {"error", stuck_}});
  while (!stopping_ && remains()) {
    if (order_)
      refuse_while_stuck();
    else
      co_await wakeup_.wait_for(clock_, kLookForLeftovers);
  }
  if (stopping_) co_return;
  log(LogLevel::kInfo, "what was left of the module is gone", {{"module", config_.name}});
  if (!policy_.is_broken()) retry_ = clock_.now();
}

std::optional<std::string> Supervisor::remains() {
  for (; !leftovers_.empty(); leftovers_.erase(leftovers_.begin())) {
    if (!leftovers_.front()) continue;
    auto text = leftovers_.front()();
    if (!text) continue;
    stuck_ = *text;
    return text;
  }
  return std::nullopt;
}

// Whatever comes, a crash or another file: nothing starts.
Task<void> Supervisor::stay_quiesced() {
  settled_ = true;
  enter(ModuleState::kQuiesced);
  while (!stopping_ && quiesced()) {
    if (order_) {
      obey_while_quiesced();
    } else if (lost_ && module_) {
      note_end();
      log(LogLevel::kWarn, "module that is quiesced is away", {{"module", config_.name}, {"error", lost_->message}});
      co_await release();
    } else {
      co_await wakeup_.wait();
    }
  }
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

Task<Status> Supervisor::bring_up() {
  lost_.reset();
  if (module_ && !renew_) {
    Status resumed = co_await module_->resume(clock_.now() + deadlines_.start);
    if (resumed) resumed = co_await take_up();
    if (resumed) co_return resumed;
    // Perhaps it has libraries of the driver before: a fresh process has those of today.
    log(LogLevel::kWarn, "module does not take its hardware back; a fresh instance is started",
        {{"module", config_.name}, {"error", resumed.error().message}});
  }
  co_await release();
  co_return co_await start_instance();
}

Task<Status> Supervisor::start_instance() {
  // Nothing runs that would be better off with the old one.
  if (std::exchange(renew_, false) && wanted_) {
    config_ = *std::exchange(wanted_, std::nullopt);
    refused_.reset();
  }
  lost_.reset();
  auto loaded = co_await load(config_);
  if (!loaded) co_return std::unexpected(loaded.error());
  module_ = *loaded;
  identity_ = module_->identity();

  auto started = co_await module_->start(events(module_), clock_.now() + deadlines_.start);
  if (!started) co_return within(started.error(), "module '{}' does not start", config_.name);
  co_return co_await take_up();
}

Task<Result<std::shared_ptr<Module>>> Supervisor::load(ModuleConfig config) {
  Leftover left;
  auto loaded = co_await loader_(config, clock_.now() + deadlines_.start, left);
  if (left) leftovers_.push_back(std::move(left));
  co_return loaded;
}

Task<Status> Supervisor::take_up() {
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

// Ends when the instance is lost, has let go of its hardware, or is to be stopped.
Task<void> Supervisor::serve() {
  Instant next_check = clock_.now() + kHealthInterval;
  while (!stopping_ && !lost_) {
    if (order_) {
      const bool goes_on = co_await obey_while_ready();
      if (!goes_on) co_return;
      continue;
    }
    if (renew_ && !remains()) {
      renew_ = false;
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
  leftovers_.push_back(instance->leftover());
}

void Supervisor::enter(ModuleState state) {
  state_ = state;
  since_ = clock_.wall();
  listener_.changed(*this);
}

}  // namespace cardcage
