// How the daemon applies a changed configuration.
#include <algorithm>

#include "host/daemon.h"
#include "host/view/module_report.h"

namespace cardcage {
namespace {

// The interval at which modules, drivers and resources that are not configured any more are removed if nothing holds
// them. That depends on claims, calls and pods, so it is polled, and only while something drains.
constexpr Duration kTidyInterval = std::chrono::seconds(1);
// The time that a reload waits for the modules that it changed; cagectl waits 30 s for the whole reload.
constexpr Duration kReloadLimit = std::chrono::seconds(20);

}  // namespace

void Daemon::apply(Config wanted, const ConfigPlan& plan) {
  const bool metrics_moved = wanted.metrics.listen != config_.metrics.listen;
  config_ = effective_config(config_, std::move(wanted));
  configure_log(config_.log.level, config_.log.format);
  if (metrics_moved) open_metrics();
  services_->judge(judge_of_services());
  serve(plan);
  if (fault_) fault_(FaultPoint::kAfterReload);
}

// Modules come first: drivers and resources are made from the table, which their supervisors fill.
void Daemon::serve(const ConfigPlan& plan) {
  supervisors_->configure(config_, plan);
  drivers_->configure(plan.affected);
  resources_->configure(plan.affected);
  if (!resources_->all().empty()) pods_wanted_.wake();
  tidy_.wake();
}

Task<void> Daemon::tidy() {
  while (!stopping_) {
    co_await supervisors_->tidy();
    co_await drivers_->tidy();
    co_await resources_->tidy();
    update_labels();
    const bool again = supervisors_->untidy() || drivers_->untidy() || resources_->untidy();
    if (stopping_) break;
    if (again)
      co_await tidy_.wait_for(clock_, kTidyInterval);
    else
      co_await tidy_.wait();
  }
}

Task<void> Daemon::reload_on_signal() {
  while (!stopping_) {
    boost::system::error_code cancelled;
    co_await reload_signals_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    if (cancelled || stopping_) break;
    supervisors_->retry();
    live_config_.reload(false);
  }
}

Condition Daemon::outcome_of(const std::string& module) const {
  const Supervisor* const supervisor = supervisors_->find(module);
  if (!supervisor) return gone_condition();
  return reload_outcome(module_facts(*supervisor, supervisors_->draining(*supervisor)));
}

Task<Result<ReloadReport>> Daemon::reload(bool dry_run) {
  if (stopping_) co_return fail(Code::kUnavailable, "the daemon is stopping");
  std::vector<std::string> modules;
  ReloadReport report{.file = live_config_.file(), .applied = false, .errors = {}, .steps = {}};
  const auto retried = dry_run ? std::vector<std::string>{} : supervisors_->retry();
  const ReloadResult result = live_config_.reload(dry_run);
  report.errors = result.errors;
  report.applied = !dry_run && result.errors.empty();
  for (PlanStep& step : steps(result.plan)) report.steps.push_back({std::move(step), {}});
  for (const ModuleChange& change : result.plan.modules) modules.push_back(change.name);
  if (!report.applied) co_return report;
  for (const std::string& name : retried) {
    if (std::ranges::find(modules, name) != modules.end()) continue;
    report.steps.insert(report.steps.begin() + static_cast<std::ptrdiff_t>(modules.size()),
                        {PlanStep{"module " + name, PlanAction::kReplace, "refused before, tried again", name}, {}});
    modules.push_back(name);
  }
  co_await supervisors_->wait_until_decided(modules, clock_.now() + kReloadLimit);
  for (ReloadReport::Step& step : report.steps)
    if (!step.what.module.empty()) step.outcome = outcome_of(step.what.module);
  co_return report;
}

}  // namespace cardcage
