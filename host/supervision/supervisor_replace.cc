// How a supervisor takes another build of its module over, or another configuration of it, and how it drains.
#include "host/core/log.h"
#include "host/supervision/supervisor.h"

namespace cardcage {

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

void Supervisor::end_drained() {
  if (draining_.empty() || !module_) return;
  lost_ = Error{Code::kUnavailable, draining_};
  wakeup_.wake();
}

Task<void> Supervisor::replace() {
  const std::optional<ModuleConfig> wanted = wanted_;
  const ModuleConfig next = wanted.value_or(config_);
  refused_.reset();
  auto loaded = co_await load(next);
  if (!loaded) co_return refuse(loaded.error());
  if (!wanted && (*loaded)->identity().sha256 == identity_->sha256) co_return;  // touched, not changed
  auto devices = co_await try_out(*loaded);
  const bool outdated = wanted_.has_value() != wanted.has_value() || (wanted && !same_instance(*wanted, *wanted_));
  if (devices && !outdated) {
    if (wanted_) config_ = *std::exchange(wanted_, std::nullopt);
    co_return co_await take_over(std::move(*loaded), std::move(*devices));
  }
  devices_.forget_kept();
  co_await let_go_of(*loaded);
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

}  // namespace cardcage
