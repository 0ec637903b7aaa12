#include "host/supervision/health_checks.h"

#include <algorithm>
#include <utility>

#include "host/core/log.h"

namespace cardcage {
namespace {

// Interval of the checks of a module that has check().
constexpr Duration kHealthInterval = std::chrono::seconds(30);
constexpr Duration kSweepBudget = std::chrono::seconds(10);  // for the checks of all devices
// Small, so that a claim never waits for a whole sweep.
constexpr std::size_t kChecksPerCall = 16;

}  // namespace

void HealthChecks::schedule() { due_ = module_.clock.now() + kHealthInterval; }

Task<void> HealthChecks::sweep() {
  if (!module_.identity->has_check) co_return;
  // The checks would wait until their deadline.
  if (!module_.identity->concurrent && module_.instance->busy()) co_return;
  const SnapshotPtr listed = devices_.snapshot();
  std::vector<std::string> ids;
  for (const Device& device : listed->devices)
    if (!devices_.mark_of(device)) ids.push_back(device.id);
  if (ids.empty()) co_return;
  std::ranges::rotate(ids, std::ranges::lower_bound(ids, next_device_));
  const Instant end = module_.clock.now() + kSweepBudget;
  std::size_t reached = 0;
  while (reached < ids.size() && module_.clock.now() < end && !module_.life.stop_requested() && !module_.life.lost() &&
         !commands_.pending()) {
    const auto first = ids.begin() + static_cast<std::ptrdiff_t>(reached);
    const auto count = static_cast<std::ptrdiff_t>(std::min(kChecksPerCall, ids.size() - reached));
    CheckCall check{{first, first + count}};
    const auto checked = co_await module_.instance->call(std::move(check), end);
    // The next sweep begins after a failed device: a hanging check must not block the others forever.
    reached += checked ? std::max<std::size_t>(*checked, 1) : 1;
    if (checked) continue;
    log_limited(LogLevel::kWarn, module_.name() + "/checks", "health checks failed",
                {{"module", module_.name()}, {"error", checked.error().message}});
    break;
  }
  next_device_ = reached < ids.size() ? ids[reached] : std::string();
}

}  // namespace cardcage
