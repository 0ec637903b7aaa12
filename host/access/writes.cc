#include "host/access/writes.h"

#include <algorithm>

#include "host/access/write_rules.h"
#include "host/model/text_rules.h"
#include "host/wire/asks.h"

namespace cardcage {

static constexpr std::size_t kQuotedPath = 200;

Status Writes::allow(const std::string& path) const {
  if (std::ranges::any_of(allowed_, [&](const std::string& pattern) { return matches_path(pattern, path); })) return {};
  return fail(Code::kPermissionDenied,
              "the module may not access '{}': add it, or a pattern, to the key writes of its [[module]]",
              printable(path, kQuotedPath));
}

Instant Writes::earliest(Instant deadline, std::chrono::milliseconds limit) const {
  return limit.count() > 0 ? std::min<Instant>(deadline, shared_->clock.now() + limit) : deadline;
}

Task<Result<AskReply>> Writes::run(FileWriteAsk ask, Instant deadline) {
  if (auto good = check(ask); !good) co_return std::unexpected(good.error());
  if (auto allowed = allow(ask.path); !allowed) co_return std::unexpected(allowed.error());
  wire::Access message;
  write(ask, *message.mutable_write());
  std::string what = fmt::format("a write to '{}'", ask.path);
  auto writing = access(ask.device_id, std::move(what), std::move(message), earliest(deadline, ask.limit));
  const auto written = co_await std::move(writing);
  if (!written) co_return std::unexpected(written.error());
  co_return AskReply();
}

Task<Result<AskReply>> Writes::run(IoctlAsk ask, Instant deadline) {
  if (auto good = check(ask); !good) co_return std::unexpected(good.error());
  for (const std::string& path : {ask.path, ask.data_path})
    if (auto allowed = path.empty() ? Status() : allow(path); !allowed) co_return std::unexpected(allowed.error());
  wire::Access message;
  write(ask, *message.mutable_ioctl());
  std::string what = fmt::format("ioctl {:#x} of '{}'", ask.request, ask.path);
  auto making = access(ask.device_id, std::move(what), std::move(message), earliest(deadline, ask.limit));
  auto argument = co_await std::move(making);
  if (!argument) co_return std::unexpected(argument.error());
  co_return AskReply(IoctlResult{std::move(*argument)});
}

Task<Result<AskReply>> Writes::run(DriverAsk ask, Instant deadline) {
  if (auto good = check(ask); !good) co_return std::unexpected(good.error());
  const std::string driver_override = shared_->sysfs / "bus/pci/devices" / ask.pci_bus_id / "driver_override";
  if (auto allowed = allow(driver_override); !allowed) co_return std::unexpected(allowed.error());
  if (!shared_->records)
    co_return fail(Code::kFailedPrecondition, "drivers cannot be switched here: only the daemon remembers them");
  const std::string function = ask.pci_bus_id, driver = ask.driver;
  if (!shared_->switching.insert(function).second)
    co_return fail(Code::kAborted, "another call is switching its driver: try again when that has ended");
  auto switching = switch_driver(std::move(ask), deadline);
  const Status switched = co_await std::move(switching);
  shared_->switching.erase(function);
  if (!switched && driver.empty()) co_return within(switched.error(), "{} does not get its own driver back", function);
  if (!switched) co_return within(switched.error(), "{} cannot be bound to '{}'", function, driver);
  co_return AskReply();
}

Task<Status> Writes::switch_driver(DriverAsk ask, Instant deadline) {
  DriverSwitch::Ways ways{shared_->sysfs, *shared_->records,
                          [this, device = ask.device_id, deadline](wire::Access message, std::string what) {
                            return access(device, std::move(what), std::move(message), deadline);
                          },
                          shared_->fault};
  DriverSwitch function(std::move(ways), ask.pci_bus_id);
  auto switching = ask.driver.empty() ? function.restore() : function.bind(ask.driver);
  co_return co_await std::move(switching);
}

Task<Result<std::string>> Writes::access(std::string device_id, std::string what, wire::Access message,
                                         Instant deadline) {
  if (ended_) co_return fail(Code::kCancelled, "the instance of the module has ended");
  std::shared_ptr<RunningAccess> mine;
  HardwareAccess wanted{{module_, std::move(device_id)}, std::move(what), std::move(message)};
  auto making = make_access(shared_->core, shared_->clock, std::move(wanted), deadline, shared_->stuck,
                            [this, &mine](std::shared_ptr<RunningAccess> running) {
                              running_.push_back(running);
                              mine = std::move(running);
                            });
  auto made = co_await std::move(making);
  std::erase(running_, mine);
  co_return made;
}

void Writes::end() {
  ended_ = true;
  for (const auto& running : running_) running->first.set(false);
}

}  // namespace cardcage
