// Replaces an instance by one of a new file or configuration, and drains.
#include "host/config/options.h"
#include "host/core/log.h"
#include "host/supervision/supervisor.h"

namespace cardcage {

void Supervisor::renew() {
  life_.request_trial();
  wakeup_.wake();
}

void Supervisor::configure(ModuleConfig config, DeadlineConfig deadlines) {
  deadlines_ = deadlines;
  life_.configure(std::move(config));
  update_rules();
  if (life_.target().trial_requested()) wakeup_.wake();
}

void Supervisor::drain(std::string why) {
  if (draining() == why) return;
  log(LogLevel::kInfo, why.empty() ? "module is taken back" : "module drains",
      {{"module", config().name}, {"why", why.empty() ? draining() : why}});
  life_.drain(std::move(why));
}

void Supervisor::end_drained() {
  if (draining().empty() || !module_) return;
  last_good_build_ = nullptr;  // no claim is left to release, and no file to start from
  served_id_.clear();
  life_.lose(Error{Code::kUnavailable, draining()});
  wakeup_.wake();
}

Task<void> Supervisor::try_replacement() {
  const ModuleConfig tried = life_.begin_trial();
  const auto build = co_await stage(tried);
  if (!build) co_return refuse(build.error());
  // A file that was only touched must not run: its constructors may reset hardware.
  const bool same_file = (*build)->sha256 == identity_->sha256;
  if (same_file && same_instance(tried, config())) co_return life_.confirm_file();
  if (same_file && identity_->has(Family::kConfigure) &&
      differs_in_live_options_only(config(), tried, identity_->options)) {
    const bool settled = co_await try_options(tried);
    if (settled) co_return;
  }
  const auto next = co_await load(tried, *build);
  if (!next) co_return refuse(next.error());
  auto devices = co_await try_out(*next);
  if (devices && !life_.target().trial_is_outdated()) {
    const bool took_over = co_await take_over(*next, std::move(*devices));
    if (took_over) {
      keep_build(*build);
      broken_file_.reset();
    }
    co_return;
  }
  devices_.forget_kept();
  co_await stop_instance(*next);
  if (devices)
    life_.drop_trial();
  else
    refuse(devices.error());
}

// Gives the running instance the new values of its live options. Returns false if the module did not reply; then only a
// new instance is certain to have them.
Task<bool> Supervisor::try_options(ModuleConfig tried) {
  auto options = checked_options(tried, identity_->options);
  if (!options) {
    refuse(options.error());
    co_return true;
  }
  ConfigureCall configure{std::move(*options)};
  Status taken = co_await module_->call(std::move(configure), clock_.now() + deadlines_.start);
  if (life_.lost()) taken = std::unexpected(*life_.lost());
  if (taken) {
    log(LogLevel::kInfo, "module has taken new options", {{"module", config().name}});
    life_.accept_trial();
    co_return true;
  }
  const Code why = taken.error().code;
  if (!life_.lost() && (why == Code::kDeadlineExceeded || why == Code::kCancelled)) co_return false;
  refuse(taken.error());
  co_return true;
}

void Supervisor::refuse(const Error& error) {
  if (life_.target().trial_is_outdated()) return life_.drop_trial();
  log(LogLevel::kError,
      fmt::format("the new {} of a module is not taken over; the old one goes on",
                  life_.target().has_candidate() ? "configuration" : "file"),
      {{"module", config().name}, {"error", error.message}});
  life_.refuse_trial(error);
}

// Another module cannot read the states of the claims, and would take the devices for its own.
Status Supervisor::check_id(const ModuleIdentity& build) const {
  std::string before = served_id_;
  for (const ModuleClaim& claim : listener_.live_claims(config().name))
    if (!claim.module_id.empty() && claim.module_id != build.id) before = claim.module_id;
  if (before.empty() || before == build.id) return {};
  return fail(
      Code::kFailedPrecondition,
      "its file is of module '{0}', and its devices and claims are those of module '{1}': put the file of '{1}' "
      "back, and give '{0}' a [[module]] of its own; to replace '{1}', remove its [[module]], and write the new "
      "one when 'cagectl modules' does not list it any more",
      build.id, before);
}

Task<Result<SnapshotPtr>> Supervisor::try_out(std::shared_ptr<Module> next) {
  if (Status same = check_id(next->identity()); !same) co_return std::unexpected(same.error());
  watch_events(next);
  auto started = co_await next->start(events(next), clock_.now() + deadlines_.start);
  if (!started) co_return std::unexpected(started.error());
  auto devices = co_await next->call(DiscoverCall{}, clock_.now() + deadlines_.discover);
  if (devices) co_await repeat_device_quiesces(next);
  co_return devices;
}

// New calls go to the new instance at once, where they queue behind its reconcile; the old one ends its open calls.
Task<bool> Supervisor::take_over(std::shared_ptr<Module> next, SnapshotPtr devices) {
  if (listener_.fault) listener_.fault(FaultPoint::kBeforeTakeOver);
  const ModuleConfig before = config();
  const SnapshotPtr listed = snapshot();
  const auto old = std::exchange(module_, std::move(next));
  fallback_ = Fallback{old, life_.lost().has_value()};
  log_take_over(module_->identity());
  identity_ = module_->identity();
  update_rules();
  std::ignore = devices_.adopt(std::move(devices));
  set_health_timer();
  request_labels();
  life_.accept_trial();
  const Status reconciled = co_await reconcile();
  const bool old_lost = std::exchange(fallback_, std::nullopt)->lost;
  if (!reconciled && !old_lost) {
    go_back(old, listed, before, reconciled.error());
    co_return false;
  }
  if (!reconciled) life_.lose(reconciled.error());
  if (before.name != config().name) co_await health_.rename(config().name);
  retire(old);
  if (listener_.fault) listener_.fault(FaultPoint::kAfterTakeOver);
  co_return reconciled.has_value();
}

// Two builds of one version differ only in their digests.
void Supervisor::log_take_over(const ModuleIdentity& next) const {
  const bool new_file = next.sha256 != identity_->sha256;
  const std::string what = fmt::format("a new {} of the module is taken over", new_file ? "file" : "configuration");
  if (new_file && next.version == identity_->version)
    return log(
        LogLevel::kInfo, what,
        {{"module", config().name}, {"version", next.version}, {"sha256", next.sha256}, {"before", identity_->sha256}});
  log(LogLevel::kInfo, what, {{"module", config().name}, {"version", next.version}, {"before", identity_->version}});
}

void Supervisor::go_back(std::shared_ptr<Module> old, SnapshotPtr devices, ModuleConfig before, const Error& why) {
  log(LogLevel::kError, "the new instance of a module fails; the old one goes on",
      {{"module", config().name}, {"error", why.message}});
  retire(std::exchange(module_, std::move(old)));
  identity_ = module_->identity();
  std::ignore = devices_.adopt(std::move(devices));
  request_labels();
  life_.take_back_trial(std::move(before), why);
  update_rules();
}

void Supervisor::retire(std::shared_ptr<Module> instance) {
  retired_.push_back(instance);
  retirements_.spawn(stop_when_idle(std::move(instance)));
}

// Every call has a limit of its own, after which it loses the instance at the latest.
Task<void> Supervisor::stop_when_idle(std::shared_ptr<Module> instance) {
  std::ignore = co_await instance->finish_calls(Instant::max());
  co_await stop_instance(instance);
  std::erase(retired_, instance);
  wakeup_.wake();
}

Task<void> Supervisor::stop_retired() {
  const auto instances = retired_;
  for (const auto& instance : instances) std::ignore = co_await instance->stop(clock_.now() + deadlines_.stop);
  co_await retirements_.join(clock_, Instant::max());
}

}  // namespace cardcage
