// How a supervisor takes another build of its module over.
#include "host/core/log.h"
#include "host/module/supervisor.h"

namespace cardcage {

Task<void> Supervisor::replace() {
  auto loaded = co_await load();
  if (!loaded) co_return refuse_file(loaded.error());
  if ((*loaded)->identity().sha256 == identity_->sha256) co_return;  // touched, not changed
  auto devices = co_await try_out(*loaded);
  if (devices) co_return co_await take_over(std::move(*loaded), std::move(*devices));
  devices_.forget_kept();
  co_await let_go_of(*loaded);
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

}  // namespace cardcage
