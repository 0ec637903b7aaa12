// How the daemon applies a changed configuration.
#include "host/daemon.h"

namespace cardcage {
namespace {

// The interval at which modules, drivers and resources that are not configured any more are removed if nothing holds
// them. That depends on claims, calls and pods, so it is polled, and only while something drains.
constexpr Duration kTidyInterval = std::chrono::seconds(1);

}  // namespace

void Daemon::apply(Config wanted, const ConfigPlan& plan) {
  const bool metrics_moved = wanted.metrics.listen != config_.metrics.listen;
  config_ = effective_config(config_, std::move(wanted));
  configure_log(config_.log.level, config_.log.format);
  if (metrics_moved) pages_->open(config_.metrics.listen);
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

}  // namespace cardcage
