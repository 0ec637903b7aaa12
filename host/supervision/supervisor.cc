#include "host/supervision/supervisor.h"

#include <algorithm>
#include <utility>

#include "host/core/duration.h"
#include "host/core/log.h"
#include "host/core/subject.h"

namespace cardcage {
namespace {

using Step = Lifecycle::Step;

// Polled, because no event reports the end of a stuck thread or process.
constexpr Duration kLeftoverPollInterval = std::chrono::seconds(1);
// A burst of rescan requests, as when a bus is enumerated again, costs one discover.
constexpr Duration kRescanDelay = std::chrono::milliseconds(20);
// Rescans at once for a module that keeps requesting them, perhaps in every discover; further ones are limited to a
// few.
constexpr int kRescanBurst = 10;
constexpr Duration kRescanInterval = std::chrono::seconds(2);
// A call that takes this long is reported to operators.
constexpr Duration kSlowCall = std::chrono::seconds(10);

std::string text_of(Duration duration) { return format_duration(std::chrono::round<std::chrono::seconds>(duration)); }

// Describes a call that takes so long that operators should know; empty if there is none.
std::string slow_call(const SupervisedModule& module) {
  const auto busy = module.instance ? module.instance->busy() : std::nullopt;
  const Duration since = busy ? module.clock.now() - busy->since : Duration(0);
  if (since < kSlowCall) return "";
  const std::string limit =
      busy->deadline == Instant::max() ? "" : " of at most " + text_of(busy->deadline - busy->since);
  return fmt::format("busy with {} for {}{}{}", busy->call, text_of(since), limit,
                     busy->progress ? ": " + to_string(*busy->progress) : "");
}

}  // namespace

Supervisor::Supervisor(ModuleConfig config, DeadlineConfig deadlines, Loader loader, asio::io_context& core,
                       Clock& clock, QuiesceMarks& marks, HealthStore& records, Listener listener)
    : module_{.core = core,
              .clock = clock,
              .marks = marks,
              .supervisor = *this,
              .listener = std::move(listener),
              .deadlines = deadlines,
              .life = Lifecycle(std::move(config), clock, [this] { module_.changed(SupervisorEvent::kState); })},
      devices_(module_, records),
      care_(module_, devices_),
      labels_(module_),
      instances_(module_, devices_, care_, labels_, std::move(loader)),
      replacement_(module_, devices_, care_, instances_),
      commands_(module_, devices_, instances_, replacement_),
      checks_(module_, devices_, commands_),
      rescans_(kRescanBurst, kRescanInterval),
      ended_(core) {
  care_.update_rules();
}

Task<void> Supervisor::run() {
  if (const QuiesceMark* const mark = module_.marks.find(module_.name())) module_.life.set_quiesced(*mark);
  for (bool stopping = false; !stopping;) {
    switch (module_.life.next_step(instances_.leftovers().reason().has_value())) {
      case Step::kWaitUntilUnstuck: co_await wait_until_unstuck(); break;
      case Step::kStayQuiesced: co_await stay_quiesced(); break;
      case Step::kWaitBeforeRetry: co_await wait_before_retry(); break;
      case Step::kRunInstance: co_await run_instance(); break;
      case Step::kStop: stopping = true;
    }
  }
  commands_.stop();
  co_await replacement_.stop_retired();
  co_await instances_.release();
  co_await care_.stop();
  module_.life.stop();
  ended_.set(true);
}

// Returns when the instance is lost or stopped, or is quiesced and kept.
Task<void> Supervisor::run_instance() {
  module_.life.start();
  const Instant begun = module_.clock.now();
  const Status up = co_await start_or_resume();
  if (up) {
    log(LogLevel::kInfo, "module is ready",
        {{"module", module_.name()}, {"devices", devices_.snapshot()->devices.size()}});
    module_.life.serve();
    module_.keep_build(module_.build);
    if (module_.broken_file) module_.life.refuse_file(*module_.broken_file);
  } else {
    module_.life.lose(up.error());
  }
  commands_.end_start(up);
  if (up) {
    co_await serve();
    if (InstanceEvents* const events = instances_.events()) events->close();
  }
  if (module_.life.lost() && !module_.life.stop_requested()) co_await back_off(begun);
}

void Supervisor::record_end() {
  last_end_ = ModuleEnd{module_.clock.wall(), module_.life.lost()->message, last_lines()};
}

Task<void> Supervisor::back_off(Instant begun) {
  record_end();
  module_.life.back_off(module_.clock.now() - begun);
  const RestartPolicy& policy = module_.life.restart_policy();
  const auto pause = std::chrono::duration_cast<std::chrono::seconds>(policy.pause());
  log(LogLevel::kError, policy.is_broken() ? "module is broken: it failed too often" : "module is away",
      {{"module", module_.name()}, {"error", last_end_->how}, {"retry_in", fmt::format("{} s", pause.count())}});
  co_await instances_.release();
  module_.life.begin_pause();
}

Task<void> Supervisor::wait_before_retry() {
  module_.life.await_retry();
  while (module_.life.next_step(false) == Step::kWaitBeforeRetry) {
    if (commands_.pending())
      co_await commands_.execute_while_away();
    else
      co_await module_.wakeup.wait_until(module_.clock, module_.life.restart_policy().next_try());
  }
}

// A former instance may still hold the hardware; a second one beside it would be worse than none.
Task<void> Supervisor::wait_until_unstuck() {
  bool logged = false;
  for (auto why = instances_.leftovers().reason(); why && !module_.life.stop_requested();
       why = instances_.leftovers().reason()) {
    module_.life.block(*why);
    if (!std::exchange(logged, true))
      log(LogLevel::kError, "module is stuck", {{"module", module_.name()}, {"error", *why}});
    if (commands_.pending())
      commands_.refuse_while_stuck();
    else
      co_await module_.wakeup.wait_for(module_.clock, kLeftoverPollInterval);
  }
  if (module_.life.stop_requested()) co_return;
  log(LogLevel::kInfo, "module is not stuck any more", {{"module", module_.name()}});
  module_.life.unblock();
}

// Starts nothing, neither after a crash nor for a new file.
Task<void> Supervisor::stay_quiesced() {
  module_.life.stay_quiesced();
  while (module_.life.next_step(false) == Step::kStayQuiesced) {
    if (commands_.pending()) {
      commands_.execute_while_quiesced();
    } else if (module_.life.lost() && module_.instance) {
      record_end();
      log(LogLevel::kWarn, "quiesced module is away",
          {{"module", module_.name()}, {"error", module_.life.lost()->message}});
      co_await instances_.release();
    } else {
      co_await module_.wakeup.wait();
    }
  }
}

Task<void> Supervisor::stop() {
  if (state() == ModuleState::kStopped) co_return;
  module_.life.request_stop();
  module_.wakeup.wake();
  co_await ended_.wait();
}

void Supervisor::renew() {
  module_.life.request_trial();
  module_.wakeup.wake();
}

void Supervisor::configure(ModuleConfig config, DeadlineConfig deadlines) {
  module_.deadlines = deadlines;
  module_.life.configure(std::move(config));
  care_.update_rules();
  if (module_.life.target().trial_requested()) module_.wakeup.wake();
}

void Supervisor::drain(std::string why) {
  if (draining() == why) return;
  log(LogLevel::kInfo, why.empty() ? "module is taken back" : "module drains",
      {{"module", module_.name()}, {"why", why.empty() ? draining() : why}});
  module_.life.drain(std::move(why));
}

void Supervisor::end_drained() {
  if (draining().empty() || !module_.instance) return;
  module_.last_good_build = nullptr;  // no claim is left to release, and no file to start from
  module_.served_id.clear();
  module_.life.lose(Error{Code::kUnavailable, draining()});
  module_.wakeup.wake();
}

Result<std::shared_ptr<Module>> Supervisor::module_for_release() const {
  if (state() == ModuleState::kQuiesced && module_.instance && !module_.life.lost()) return module_.instance;
  return module();
}

Task<Status> Supervisor::start_or_resume() {
  if (module_.instance && !module_.life.target().trial_requested()) {
    if (InstanceEvents* const events = instances_.events()) events->open();
    Status resumed = co_await module_.instance->call(ResumeCall{}, module_.start_deadline());
    if (resumed) resumed = co_await discover_and_reconcile();
    if (resumed) co_return resumed;
    // It may still have the libraries of the former driver; a fresh process loads the current ones.
    log(LogLevel::kWarn, "module does not take its hardware back; a fresh instance is started",
        {{"module", module_.name()}, {"error", resumed.error().message}});
    module_.life.start();
  }
  co_await instances_.release();
  co_return co_await start_instance();
}

// Only a module can release the claims that the last good build has prepared, so an unusable file must not leave the
// node without one.
Task<Status> Supervisor::start_instance() {
  module_.broken_file.reset();
  const ModuleConfig config = module_.life.begin_start();
  Status of_file = co_await start_file(config);
  if (of_file || !last_build_may_do(config)) co_return of_file;
  module_.life.lose(of_file.error());
  co_await instances_.release();
  if (instances_.leftovers().reason()) co_return of_file;
  module_.life.start();
  module_.build = module_.last_good_build;
  const Status of_last_build = co_await start_build(config);
  if (!of_last_build) {
    log(LogLevel::kError, "the last good build of a module does not start either",
        {{"module", config.name}, {"error", of_last_build.error().message}});
    co_return of_file;
  }
  module_.broken_file = of_file.error();
  log(LogLevel::kError, "module file failed; running the last good build",
      {{"module", config.name}, {"error", module_.broken_file->message}});
  co_return Status{};
}

Task<Status> Supervisor::start_file(ModuleConfig config) {
  module_.build = nullptr;
  auto staged = co_await instances_.stage(config);
  if (!staged) co_return std::unexpected(staged.error());
  module_.build = *staged;
  co_return co_await start_build(config);
}

Task<Status> Supervisor::start_build(ModuleConfig config) {
  auto loaded = co_await instances_.load(config, module_.build);
  if (!loaded) co_return std::unexpected(loaded.error());
  module_.instance = *loaded;
  if (Status same = instances_.check_id(module_.instance->identity()); !same)
    co_return within(same.error(), "module '{}'", config.name);
  module_.identity = module_.instance->identity();
  care_.update_rules();

  auto started = co_await instances_.start(module_.instance);
  if (!started) co_return within_subject(started.error(), module_.subject(), "does not start");
  co_return co_await discover_and_reconcile();
}

bool Supervisor::last_build_may_do(const ModuleConfig& config) {
  if (!module_.last_good_build || module_.life.stop_requested() || instances_.leftovers().reason()) return false;
  const std::string& digest = module_.last_good_build->sha256;
  return (!module_.build || module_.build->sha256 != digest) && (config.sha256.empty() || config.sha256 == digest);
}

Task<Status> Supervisor::discover_and_reconcile() {
  auto discovered = co_await instances_.discover();
  if (!discovered) co_return discovered;
  // Calls of others queue behind reconcile, so the claims that they add are not missing from its list.
  co_await instances_.repeat_device_quiesces(module_.instance);
  module_.life.offer();
  co_return co_await instances_.reconcile();
}

// Returns when the instance is lost, quiesced or must stop.
Task<void> Supervisor::serve() {
  checks_.schedule();
  while (!module_.life.stop_requested() && !module_.life.lost()) {
    if (commands_.pending()) {
      const bool goes_on = co_await commands_.execute_while_ready();
      if (!goes_on) co_return;
    } else if (replacement_.due()) {
      co_await replacement_.run();
    } else if (labels_.due()) {
      co_await labels_.collect();
    } else if (care_.take_check_request() || module_.clock.now() >= checks_.due()) {
      checks_.schedule();
      care_.heal();  // a new day may have begun for a remedy
      co_await checks_.sweep();
    } else if (module_.clock.now() >= rescan_due()) {
      co_await rescan();
    } else if (module_.clock.now() >= instances_.events_due()) {
      co_await instances_.deliver_events();
    } else {
      // GCC 12 refuses the list inside the co_await.
      const Instant next = std::min({checks_.due(), rescan_due(), instances_.events_due()});
      co_await module_.wakeup.wait_until(module_.clock, next);
    }
  }
}

Instant Supervisor::rescan_due() {
  const auto requested = devices_.list().rescan_requested();
  return requested ? std::max(*requested + kRescanDelay, rescans_.next()) : Instant::max();
}

Task<void> Supervisor::rescan() {
  if (rescan_due() == rescans_.next())
    log_limited(LogLevel::kWarn, module_.name() + "/rescans", "module asks for rescans too often; they are joined",
                {{"module", module_.name()}, {"requests", devices_.list().rescan_requests()}});
  rescans_.take(module_.clock.now());
  const Status discovered = co_await instances_.discover();
  if (module_.life.lost()) co_return;
  if (discovered) co_return module_.life.pass_discover();
  module_.life.fail_discover(discovered.error());
  log(LogLevel::kWarn, "discover failed; the last device list stays",
      {{"module", module_.name()}, {"error", discovered.error().message}});
}

std::string Supervisor::detail() const {
  if (std::string detail = module_.life.detail(); !detail.empty()) return detail;
  return slow_call(module_);
}

std::string Supervisor::warning() const {
  if (std::string warning = module_.life.warning(); !warning.empty()) return warning;
  if (std::string warning = devices_.quiesced_warning(); !warning.empty()) return warning;
  const std::string slow = slow_call(module_);
  return slow.empty() ? devices_.left_out_warning() : fmt::format("module '{}' is {}", module_.name(), slow);
}

}  // namespace cardcage
