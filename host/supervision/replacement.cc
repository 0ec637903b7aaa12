#include "host/supervision/replacement.h"

#include <utility>

#include "host/config/options.h"
#include "host/core/log.h"

namespace cardcage {

bool Replacement::due() const {
  return module_.life.target().trial_requested() && !instances_.leftovers().reason() && retired_.empty();
}

Task<void> Replacement::run() {
  const ModuleConfig tried = module_.life.begin_trial();
  const auto build = co_await instances_.stage(tried);
  if (!build) co_return refuse(build.error());
  // A file that was only touched must not run: its constructors may reset hardware.
  const bool same_file = (*build)->sha256 == module_.identity->sha256;
  if (same_file && same_instance(tried, module_.life.config())) co_return module_.life.confirm_file();
  if (same_file && module_.identity->has(Family::kConfigure) &&
      differs_in_live_options_only(module_.life.config(), tried, module_.identity->options)) {
    const bool settled = co_await try_options(tried);
    if (settled) co_return;
  }
  const auto next = co_await instances_.load(tried, *build);
  if (!next) co_return refuse(next.error());
  auto devices = co_await try_out(*next);
  if (devices && !module_.life.target().trial_is_outdated()) {
    const bool took_over = co_await take_over(*next, std::move(*devices));
    if (took_over) {
      module_.keep_build(*build);
      module_.broken_file.reset();
    }
    co_return;
  }
  devices_.list().forget_kept();
  co_await instances_.stop(*next);
  if (devices)
    module_.life.drop_trial();
  else
    refuse(devices.error());
}

// Gives the running instance the new values of its live options. Returns false if the module did not reply; then only a
// new instance is certain to have them.
Task<bool> Replacement::try_options(ModuleConfig tried) {
  auto options = checked_options(tried, module_.identity->options);
  if (!options) {
    refuse(options.error());
    co_return true;
  }
  ConfigureCall configure{std::move(*options)};
  Status taken = co_await module_.instance->call(std::move(configure), module_.start_deadline());
  if (module_.life.lost()) taken = std::unexpected(*module_.life.lost());
  if (taken) {
    log(LogLevel::kInfo, "module has taken new options", {{"module", module_.name()}});
    module_.life.accept_trial();
    co_return true;
  }
  const Code why = taken.error().code;
  if (!module_.life.lost() && (why == Code::kDeadlineExceeded || why == Code::kCancelled)) co_return false;
  refuse(taken.error());
  co_return true;
}

void Replacement::refuse(const Error& error) {
  if (module_.life.target().trial_is_outdated()) return module_.life.drop_trial();
  log(LogLevel::kError,
      fmt::format("the new {} of a module is not taken over; the old one stays in use",
                  module_.life.target().has_candidate() ? "configuration" : "file"),
      {{"module", module_.name()}, {"error", error.message}});
  module_.life.refuse_trial(error);
}

Task<Result<SnapshotPtr>> Replacement::try_out(std::shared_ptr<Module> next) {
  if (Status same = instances_.check_id(next->identity()); !same) co_return std::unexpected(same.error());
  auto started = co_await instances_.start(next);
  if (!started) co_return std::unexpected(started.error());
  auto devices = co_await next->call(DiscoverCall{}, module_.discover_deadline());
  if (devices) co_await instances_.repeat_device_quiesces(next);
  co_return devices;
}

// New calls go to the new instance at once, where they queue behind its reconcile; the old one ends its open calls.
Task<bool> Replacement::take_over(std::shared_ptr<Module> next, SnapshotPtr devices) {
  if (module_.listener.fault) module_.listener.fault(FaultPoint::kBeforeTakeOver);
  const ModuleConfig before = module_.life.config();
  const SnapshotPtr listed = devices_.snapshot();
  const auto old = std::exchange(module_.instance, std::move(next));
  log_take_over(module_.instance->identity());
  module_.identity = module_.instance->identity();
  care_.update_rules();
  std::ignore = instances_.adopt(std::move(devices));
  module_.life.accept_trial();
  const Status reconciled = co_await instances_.reconcile();
  if (!reconciled && !instances_.lost(old)) {
    go_back(old, listed, before, reconciled.error());
    co_return false;
  }
  if (!reconciled) module_.life.lose(reconciled.error());
  if (before.name != module_.name()) co_await devices_.statements().rename(module_.name());
  retire(old);
  if (module_.listener.fault) module_.listener.fault(FaultPoint::kAfterTakeOver);
  co_return reconciled.has_value();
}

// Two builds of one version differ only in their digests.
void Replacement::log_take_over(const ModuleIdentity& next) const {
  const bool new_file = next.sha256 != module_.identity->sha256;
  const std::string what = fmt::format("a new {} of the module is taken over", new_file ? "file" : "configuration");
  if (new_file && next.version == module_.identity->version)
    return log(LogLevel::kInfo, what,
               {{"module", module_.name()},
                {"version", next.version},
                {"sha256", next.sha256},
                {"before", module_.identity->sha256}});
  log(LogLevel::kInfo, what,
      {{"module", module_.name()}, {"version", next.version}, {"before", module_.identity->version}});
}

void Replacement::go_back(std::shared_ptr<Module> old, SnapshotPtr devices, ModuleConfig before, const Error& why) {
  log(LogLevel::kError, "the new instance of a module fails; the old one stays in use",
      {{"module", module_.name()}, {"error", why.message}});
  retire(std::exchange(module_.instance, std::move(old)));
  module_.identity = module_.instance->identity();
  std::ignore = instances_.adopt(std::move(devices));
  module_.life.take_back_trial(std::move(before), why);
  care_.update_rules();
}

void Replacement::retire(std::shared_ptr<Module> instance) {
  retired_.push_back(instance);
  retirements_.spawn(stop_when_idle(std::move(instance)));
}

// Every call has a limit of its own, after which it loses the instance at the latest.
Task<void> Replacement::stop_when_idle(std::shared_ptr<Module> instance) {
  std::ignore = co_await instance->finish_calls(Instant::max());
  co_await instances_.stop(instance);
  std::erase(retired_, instance);
  module_.wakeup.wake();
}

Task<void> Replacement::stop_retired() {
  const auto instances = retired_;
  for (const auto& instance : instances) std::ignore = co_await instance->stop(module_.stop_deadline());
  co_await join_retired(Instant::max());
}

}  // namespace cardcage
