// Device lists: complete, valid and always the same [R6].
#include "host/conformance/device_changes.h"
#include "host/conformance/rules.h"

namespace cardcage::rules {

Task<Outcome> lists_devices(Trial& trial) {
  const auto snapshot = co_await trial.call<DiscoverCall>();
  if (!snapshot) co_return broken(snapshot.error());
  co_return passed(fmt::format("devices: {}", (*snapshot)->devices.size()));
}

Task<Outcome> lists_valid_devices(Trial& trial) {
  const auto snapshot = co_await trial.call<DiscoverCall>();
  if (!snapshot) co_return broken(snapshot.error());
  const auto& left_out = (*snapshot)->left_out;
  if (left_out.empty()) co_return passed("");
  const auto& [id, why] = *left_out.begin();
  std::string more = left_out.size() == 1 ? "" : fmt::format("; and {} more", left_out.size() - 1);
  co_return broken(fmt::format("device '{}' is left out: {}{}", id, why, more));
}

static Outcome compare(const SnapshotPtr& before, const Result<SnapshotPtr>& after) {
  if (!after) return broken(after.error());
  std::string changes = device_changes(*before, **after);
  if (changes.empty()) return passed("");
  return broken(std::move(changes));
}

Task<Outcome> lists_the_same_again(Trial& trial) {
  const auto before = co_await trial.call<DiscoverCall>();
  if (!before) co_return broken(before.error());
  const auto after = co_await trial.call<DiscoverCall>();
  co_return compare(*before, after);
}

Task<Outcome> lists_the_same_after_a_restart(Trial& trial) {
  const auto before = co_await trial.call<DiscoverCall>();
  if (!before) co_return broken(before.error());
  const Status stopped = co_await trial.stop();
  if (!stopped) co_return broken(stopped.error());
  const auto after = co_await trial.call<DiscoverCall>();
  co_return compare(*before, after);
}

}  // namespace cardcage::rules
