#include "host/supervision/supervisor.h"

#include <algorithm>
#include <utility>

#include "host/core/duration.h"
#include "host/core/log.h"
#include "host/core/subject.h"

namespace cardcage {
namespace {

// Interval of the checks of a module that has check().
constexpr Duration kHealthInterval = std::chrono::seconds(30);
constexpr Duration kSweepBudget = std::chrono::seconds(10);  // for the checks of all devices
// Small, so that a claim never waits for a whole sweep.
constexpr std::size_t kChecksPerCall = 16;
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
// The first change of health is reported at once; further changes follow after this pause: a short one for a state,
// which listeners must process, and a longer one for a text.
constexpr Duration kStatePause = std::chrono::milliseconds(5), kTextPause = std::chrono::seconds(1);

std::string text_of(Duration duration) { return format_duration(std::chrono::round<std::chrono::seconds>(duration)); }

}  // namespace

Supervisor::Supervisor(ModuleConfig config, DeadlineConfig deadlines, Loader loader, asio::io_context& core,
                       Clock& clock, QuiesceMarks& marks, HealthStore& records, Listener listener)
    : deadlines_(deadlines),
      loader_(std::move(loader)),
      core_(core),
      clock_(clock),
      marks_(marks),
      listener_(std::move(listener)),
      life_(std::move(config), clock, [this] { listener_.changed(*this); }),
      retirements_(core),
      health_(life_.config().name, clock, records, listener_.health_event),
      devices_(life_.config().name, clock, health_),
      rescans_(kRescanBurst, kRescanInterval),
      states_told_(core, clock, kStatePause, [this] { listener_.changed(*this); }),
      texts_told_(core, clock, kTextPause, [this] { listener_.changed(*this); }),
      health_due_(core, clock),
      healing_(core, clock),
      resets_(core),
      wakeup_(core),
      ended_(core) {
  update_rules();
}

Task<void> Supervisor::run() {
  if (const QuiesceMark* const mark = marks_.find(config().name)) life_.set_quiesced(*mark);
  for (bool stopping = false; !stopping;) {
    switch (life_.next_step(leftovers_.reason().has_value())) {
      case Step::kWaitUntilUnstuck: co_await wait_until_unstuck(); break;
      case Step::kStayQuiesced: co_await stay_quiesced(); break;
      case Step::kWaitBeforeRetry: co_await wait_before_retry(); break;
      case Step::kRunInstance: co_await run_instance(); break;
      case Step::kStop: stopping = true;
    }
  }
  if (order_) respond(fail(Code::kUnavailable, "module '{}' is stopped: the daemon ends", config().name));
  healing_.cancel();
  co_await stop_retired();
  co_await release();
  co_await resets_.join(clock_, Instant::max());  // they end with the instance at the latest
  life_.stop();
  ended_.set(true);
}

// Returns when the instance is lost or stopped, or is quiesced and kept.
Task<void> Supervisor::run_instance() {
  life_.start();
  const Instant begun = clock_.now();
  const Status up = co_await start_or_resume();
  if (up) {
    log(LogLevel::kInfo, "module is ready", {{"module", config().name}, {"devices", snapshot()->devices.size()}});
    life_.serve();
    keep_build(build_);
    if (broken_file_) life_.refuse_file(*broken_file_);
  } else {
    life_.lose(up.error());
  }
  if (order_ && order_->begun) respond(up);
  if (up) co_await serve();
  if (life_.lost() && !life_.stop_requested()) co_await back_off(begun);
}

void Supervisor::record_end() { last_end_ = ModuleEnd{clock_.wall(), life_.lost()->message, last_lines()}; }

Task<void> Supervisor::back_off(Instant begun) {
  record_end();
  life_.back_off(clock_.now() - begun);
  const RestartPolicy& policy = life_.restart_policy();
  const auto pause = std::chrono::duration_cast<std::chrono::seconds>(policy.pause());
  log(LogLevel::kError, policy.is_broken() ? "module is broken: it failed too often" : "module is away",
      {{"module", config().name}, {"error", last_end_->how}, {"retry_in", fmt::format("{} s", pause.count())}});
  co_await release();
  life_.begin_pause();
}

Task<void> Supervisor::wait_before_retry() {
  life_.await_retry();
  while (life_.next_step(false) == Step::kWaitBeforeRetry) {
    if (order_)
      co_await execute_while_away();
    else
      co_await wakeup_.wait_until(clock_, life_.restart_policy().next_try());
  }
}

// A former instance may still hold the hardware; a second one beside it would be worse than none.
Task<void> Supervisor::wait_until_unstuck() {
  bool logged = false;
  for (auto why = leftovers_.reason(); why && !life_.stop_requested(); why = leftovers_.reason()) {
    life_.block(*why);
    if (!std::exchange(logged, true))
      log(LogLevel::kError, "module is stuck", {{"module", config().name}, {"error", *why}});
    if (order_)
      refuse_while_stuck();
    else
      co_await wakeup_.wait_for(clock_, kLeftoverPollInterval);
  }
  if (life_.stop_requested()) co_return;
  log(LogLevel::kInfo, "module is not stuck any more", {{"module", config().name}});
  life_.unblock();
}

// Starts nothing, neither after a crash nor for a new file.
Task<void> Supervisor::stay_quiesced() {
  life_.stay_quiesced();
  while (life_.next_step(false) == Step::kStayQuiesced) {
    if (order_) {
      execute_while_quiesced();
    } else if (life_.lost() && module_) {
      record_end();
      log(LogLevel::kWarn, "quiesced module is away", {{"module", config().name}, {"error", life_.lost()->message}});
      co_await release();
    } else {
      co_await wakeup_.wait();
    }
  }
}

Task<void> Supervisor::stop() {
  if (state() == ModuleState::kStopped) co_return;
  life_.request_stop();
  wakeup_.wake();
  co_await ended_.wait();
}

Result<std::shared_ptr<Module>> Supervisor::module() const {
  if (Status usable = life_.usable(); !usable) return std::unexpected(std::move(usable.error()));
  if (!module_) return fail(Code::kUnavailable, "module '{}' is being stopped", config().name);
  return module_;
}

Result<std::shared_ptr<Module>> Supervisor::module_for_release() const {
  if (state() == ModuleState::kQuiesced && module_ && !life_.lost()) return module_;
  return module();
}

const QuiesceMark* Supervisor::quiesce_mark_of(const Device& device) const {
  const QuiesceMark* const mark = marks_.find(config().name, device.id);
  return mark || device.parent_id.empty() ? mark : marks_.find(config().name, device.parent_id);
}

std::string Supervisor::why_withheld(const Device& device) const {
  if (is_being_reset(device)) return "it is being reset";
  const QuiesceMark* const mark = quiesce_mark_of(device);
  return mark ? "it is " + quiesced_text(*mark) : "";
}

std::string Supervisor::quiesced_text(const QuiesceMark& mark) const {
  return fmt::format("quiesced {2}; 'cagectl module resume {0} {1}' takes it back into service", config().name,
                     mark.device, to_string(mark));
}

std::optional<CauseHealth> Supervisor::health_while_quiesced(const Device& device) const {
  const QuiesceMark* const mark = quiesce_mark_of(device);
  return mark ? std::optional(quiesced_health("it is " + quiesced_text(*mark), mark->since)) : std::nullopt;
}

std::optional<CauseHealth> Supervisor::health_while_stuck(const Device& device) const {
  if (!listener_.stuck) return std::nullopt;
  auto stuck = listener_.stuck(config().name, device.id);
  return stuck || device.parent_id.empty() ? stuck : listener_.stuck(config().name, device.parent_id);
}

// `instance` is the running one, or a candidate to replace it.
ModuleEvents Supervisor::events(const std::shared_ptr<Module>& instance) {
  const std::weak_ptr<Module> which = instance;
  ModuleEvents events;
  events.rescan = [this] {
    devices_.request_rescan();
    wakeup_.wake();
  };
  events.health = [this, which](const std::string& id, const Health& health) {
    if (which.lock() != module_) return devices_.keep_for_later(id, health);
    tell_health(devices_.note(id, health));
  };
  events.descriptor = [this, which](std::int32_t descriptor) {
    if (InstanceEvents* const waiting = events_of(which.lock())) waiting->note_descriptor(descriptor);
  };
  events.lost = [this, which](Error error) {
    const auto lost = which.lock();
    if (fallback_ && fallback_->module == lost) fallback_->lost = true;
    if (lost != module_) return;
    life_.lose(std::move(error));
    wakeup_.wake();
  };
  return events;
}

Task<Status> Supervisor::start_or_resume() {
  if (module_ && !life_.target().trial_requested()) {
    if (InstanceEvents* const waiting = events_of(module_)) waiting->open();
    Status resumed = co_await module_->call(ResumeCall{}, clock_.now() + deadlines_.start);
    if (resumed) resumed = co_await discover_and_reconcile();
    if (resumed) co_return resumed;
    // It may still have the libraries of the former driver; a fresh process loads the current ones.
    log(LogLevel::kWarn, "module does not take its hardware back; a fresh instance is started",
        {{"module", config().name}, {"error", resumed.error().message}});
    life_.start();
  }
  co_await release();
  co_return co_await start_instance();
}

// Only a module can release the claims that the last good build has prepared, so an unusable file must not leave the
// node without one.
Task<Status> Supervisor::start_instance() {
  broken_file_.reset();
  const ModuleConfig config = life_.begin_start();
  Status of_file = co_await start_file(config);
  if (of_file || !last_build_may_do(config)) co_return of_file;
  life_.lose(of_file.error());
  co_await release();
  if (leftovers_.reason()) co_return of_file;
  life_.start();
  build_ = last_good_build_;
  const Status of_last_build = co_await start_build(config);
  if (!of_last_build) {
    log(LogLevel::kError, "the last good build of a module does not start either",
        {{"module", config.name}, {"error", of_last_build.error().message}});
    co_return of_file;
  }
  broken_file_ = of_file.error();
  log(LogLevel::kError, "module file failed; running the last good build",
      {{"module", config.name}, {"error", broken_file_->message}});
  co_return Status{};
}

Task<Status> Supervisor::start_file(ModuleConfig config) {
  build_ = nullptr;
  auto staged = co_await stage(config);
  if (!staged) co_return std::unexpected(staged.error());
  build_ = *staged;
  co_return co_await start_build(config);
}

Task<Status> Supervisor::start_build(ModuleConfig config) {
  auto loaded = co_await load(config, build_);
  if (!loaded) co_return std::unexpected(loaded.error());
  module_ = *loaded;
  if (Status same = check_id(module_->identity()); !same) co_return within(same.error(), "module '{}'", config.name);
  identity_ = module_->identity();
  update_rules();

  watch_events(module_);
  auto started = co_await module_->start(events(module_), clock_.now() + deadlines_.start);
  if (!started) co_return within_subject(started.error(), subject(), "does not start");
  co_return co_await discover_and_reconcile();
}

bool Supervisor::last_build_may_do(const ModuleConfig& config) {
  if (!last_good_build_ || life_.stop_requested() || leftovers_.reason()) return false;
  const std::string& digest = last_good_build_->sha256;
  return (!build_ || build_->sha256 != digest) && (config.sha256.empty() || config.sha256 == digest);
}

Task<Result<ModuleBuild>> Supervisor::stage(ModuleConfig config) {
  Leftover left;
  auto staged = co_await loader_.stage(config, clock_.now() + deadlines_.start, left);
  leftovers_.add(std::move(left));
  co_return staged;
}

Task<Result<std::shared_ptr<Module>>> Supervisor::load(ModuleConfig config, ModuleBuild build) {
  Leftover left;
  auto loaded = co_await loader_.load(config, std::move(build), clock_.now() + deadlines_.start, left);
  leftovers_.add(std::move(left));
  co_return loaded;
}

// Two instances inside the daemon would share one mapped copy and its variables, so there a build is used once.
void Supervisor::keep_build(ModuleBuild build) {
  build_ = std::move(build);
  last_good_build_ = config().isolation == Isolation::kProcess ? build_ : nullptr;
  served_id_ = identity_->id;
}

Task<Status> Supervisor::discover_and_reconcile() {
  auto discovered = co_await discover();
  if (!discovered) co_return discovered;
  // Calls of others queue behind reconcile, so the claims that they add are not missing from its list.
  co_await repeat_device_quiesces(module_);
  life_.offer();
  co_return co_await reconcile();
}

Task<Status> Supervisor::reconcile() {
  ReconcileCall reconcile{listener_.live_claims(config().name)};
  auto reconciled = co_await module_->call(std::move(reconcile), clock_.now() + deadlines_.start);
  if (!reconciled) co_return within_subject(reconciled.error(), subject(), "cannot reconcile its claims");
  co_return Status{};
}

// Returns when the instance is lost, quiesced or must stop.
Task<void> Supervisor::serve() {
  co_await serve_until_away();
  if (InstanceEvents* const waiting = events_of(module_)) waiting->close();
}

Task<void> Supervisor::serve_until_away() {
  Instant next_check = clock_.now() + kHealthInterval;
  while (!life_.stop_requested() && !life_.lost()) {
    if (order_) {
      const bool goes_on = co_await execute_while_ready();
      if (!goes_on) co_return;
    } else if (life_.target().trial_requested() && !leftovers_.reason() && retired_.empty()) {
      co_await try_replacement();
    } else if (labels_due_) {
      co_await collect_labels();
    } else if (std::exchange(check_soon_, false) || clock_.now() >= next_check) {
      next_check = clock_.now() + kHealthInterval;
      heal_devices();  // a new day may have begun for a remedy
      co_await check_devices();
    } else if (clock_.now() >= rescan_due()) {
      co_await rescan();
    } else if (clock_.now() >= events_due()) {
      co_await deliver_events();
    } else {
      // GCC 12 refuses the list inside the co_await.
      const Instant next = std::min({next_check, rescan_due(), events_due()});
      co_await wakeup_.wait_until(clock_, next);
    }
  }
}

Instant Supervisor::rescan_due() {
  const auto requested = devices_.rescan_requested();
  return requested ? std::max(*requested + kRescanDelay, rescans_.next()) : Instant::max();
}

Task<void> Supervisor::rescan() {
  if (rescan_due() == rescans_.next())
    log_limited(LogLevel::kWarn, config().name + "/rescans", "module asks for rescans too often; they are joined",
                {{"module", config().name}, {"requests", devices_.rescan_requests()}});
  rescans_.take(clock_.now());
  const Status discovered = co_await discover();
  if (life_.lost()) co_return;
  if (discovered) co_return life_.pass_discover();
  life_.fail_discover(discovered.error());
  log(LogLevel::kWarn, "discover failed; the last device list stays",
      {{"module", config().name}, {"error", discovered.error().message}});
}

Task<void> Supervisor::check_devices() {
  if (!identity_->has_check) co_return;
  // The checks would wait until their deadline.
  if (!identity_->concurrent && module_->busy()) co_return;
  const SnapshotPtr listed = snapshot();
  std::vector<std::string> ids;
  for (const Device& device : listed->devices)
    if (!quiesce_mark_of(device)) ids.push_back(device.id);
  if (ids.empty()) co_return;
  std::ranges::rotate(ids, std::ranges::lower_bound(ids, next_checked_));
  const Instant end = clock_.now() + kSweepBudget;
  std::size_t reached = 0;
  while (reached < ids.size() && clock_.now() < end && !life_.stop_requested() && !life_.lost() && !order_) {
    const auto first = ids.begin() + static_cast<std::ptrdiff_t>(reached);
    const auto count = static_cast<std::ptrdiff_t>(std::min(kChecksPerCall, ids.size() - reached));
    CheckCall check{{first, first + count}};
    const auto checked = co_await module_->call(std::move(check), end);
    // The next sweep begins after a failed device: a hanging check must not block the others for ever.
    reached += checked ? std::max<std::size_t>(*checked, 1) : 1;
    if (checked) continue;
    log_limited(LogLevel::kWarn, config().name + "/checks", "health checks failed",
                {{"module", config().name}, {"error", checked.error().message}});
    break;
  }
  next_checked_ = reached < ids.size() ? ids[reached] : std::string();
}

void Supervisor::request_labels() {
  labels_due_ = identity_->has(Family::kLabels) || !labels_.values.empty();
  labels_known_ |= !labels_due_;
}

// The last labels stay until the module reports others.
Task<void> Supervisor::collect_labels() {
  Result<NodeLabels> labels = NodeLabels();
  if (identity_->has(Family::kLabels))
    labels = co_await module_->call(CollectLabelsCall{}, clock_.now() + deadlines_.discover);
  if (life_.lost()) co_return;
  labels_due_ = false;
  if (!labels)
    log_limited(LogLevel::kWarn, config().name + "/labels", "node labels are not collected; the last ones stay",
                {{"module", config().name}, {"error", labels.error().message}});
  labels_known_ |= labels.has_value();
  const bool changed = labels && *labels != labels_;
  if (changed) labels_ = std::move(*labels);
  if (changed || identity_->has(Family::kLabels)) listener_.changed(*this);
}

Task<Status> Supervisor::discover() {
  devices_.begin_discover();
  auto snapshot = co_await module_->call(DiscoverCall{}, clock_.now() + deadlines_.discover);
  if (!snapshot) {
    devices_.fail_discover();
    co_return within_subject(snapshot.error(), subject(), "cannot list its devices");
  }
  const ListedDevices::Changes changes = devices_.adopt(std::move(*snapshot));
  set_health_timer();
  request_labels();
  co_await let_others_run();  // the list may be long, and its listeners work as long again
  if (life_.offered()) tell(changes);
  co_return Status{};
}

void Supervisor::tell(const ListedDevices::Changes& changes) {
  if (changes.list)
    log_limited(LogLevel::kInfo, config().name + "/devices", "device list changed",
                {{"module", config().name}, {"devices", devices_.snapshot()->devices.size()}});
  if (changes.list || changes.health) listener_.changed(*this);
}

std::string Supervisor::detail() const {
  if (std::string detail = life_.detail(); !detail.empty()) return detail;
  return slow_call();
}

std::string Supervisor::warning() const {
  if (std::string warning = life_.warning(); !warning.empty()) return warning;
  if (const auto marks = marks_.of_devices(config().name); !marks.empty())
    return fmt::format("module '{}': device '{}' is {}{}", config().name, marks.front().device,
                       quiesced_text(marks.front()),
                       marks.size() == 1 ? "" : fmt::format("; {} more, see 'cagectl devices'", marks.size() - 1));
  const std::string slow = slow_call();
  return slow.empty() ? left_out() : fmt::format("module '{}' is {}", config().name, slow);
}

std::string Supervisor::slow_call() const {
  const auto busy = module_ ? module_->busy() : std::nullopt;
  const Duration since = busy ? clock_.now() - busy->since : Duration(0);
  if (since < kSlowCall) return "";
  const std::string limit =
      busy->deadline == Instant::max() ? "" : " of at most " + text_of(busy->deadline - busy->since);
  return fmt::format("busy with {} for {}{}{}", busy->call, text_of(since), limit,
                     busy->progress ? ": " + to_string(*busy->progress) : "");
}

std::string Supervisor::left_out() const {
  const SnapshotPtr& listed = snapshot();
  if (!listed || listed->left_out.empty()) return "";
  const auto& [id, why] = *listed->left_out.begin();
  const std::size_t others = listed->left_out.size() - 1;
  const std::string more = others == 0 ? "" : fmt::format("; {} more, see the log", others);
  return fmt::format("module '{}' lists device '{}', which is left out: {}{}", config().name, id, why, more);
}

Task<void> Supervisor::release() {
  devices_.forget_kept();
  if (module_) co_await stop_instance(std::exchange(module_, nullptr));
}

Task<void> Supervisor::stop_instance(std::shared_ptr<Module> instance) {
  const auto stopped = co_await instance->stop(clock_.now() + deadlines_.stop);
  watched_.erase(instance.get());
  if (!stopped) log(LogLevel::kWarn, "stop failed", {{"module", config().name}, {"error", stopped.error().message}});
  leftovers_.add(instance->leftover());
}

}  // namespace cardcage
