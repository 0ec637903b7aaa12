#include "host/supervision/listed_devices.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "host/core/log.h"

namespace cardcage {
namespace {

constexpr std::size_t kShownGone = 16;

std::vector<std::string> missing_from(const Snapshot& now, const Snapshot& before) {
  std::set<std::string_view> listed;
  for (const Device& device : now.devices) listed.insert(device.id);
  std::vector<std::string> missing;
  for (const Device& device : before.devices)
    if (!listed.contains(device.id)) missing.push_back(device.id);
  return missing;
}

}  // namespace

void ListedDevices::log_gone(const std::vector<std::string>& devices) const {
  if (devices.empty()) return;
  const auto shown = std::span(devices).first(std::min(devices.size(), kShownGone));
  const std::string others = devices.size() > shown.size() ? ", …" : "";
  log_limited(
      LogLevel::kWarn, module_ + "/gone", "devices are gone: the module does not list them any more",
      {{"module", module_}, {"count", devices.size()}, {"gone", fmt::format("{}{}", fmt::join(shown, ", "), others)}});
}

void ListedDevices::log_not_offered(const Snapshot& now) const {
  for (const auto& [name, reason] : now.not_offered) {
    if (snapshot_) {
      const auto before = snapshot_->not_offered.find(name);
      if (before != snapshot_->not_offered.end() && before->second == reason) continue;
    }
    log_limited(LogLevel::kInfo, module_ + "/not-offered/" + name, "hardware is not offered: " + reason,
                {{"module", module_}, {"hardware", name}});
  }
}

void ListedDevices::begin_discover() {
  discovering_ = true;
  rescan_requests_ = 0;
}

void ListedDevices::fail_discover() {
  discovering_ = false;
  kept_.take();
}

ListedDevices::Changes ListedDevices::adopt(SnapshotPtr snapshot) {
  discovering_ = false;
  Changes changes{.list = !snapshot_ || *snapshot_ != *snapshot};
  if (snapshot_ && changes.list) log_gone(missing_from(*snapshot, *snapshot_));
  log_not_offered(*snapshot);
  snapshot_ = std::move(snapshot);
  changes.health = health_.list(*snapshot_, kept_.take()) != HealthNews::kNone;
  return changes;
}

HealthNews ListedDevices::note(const std::string& device_id, Health health) {
  const bool known = snapshot_ && health_.knows(device_id);
  if (discovering_ || !known) keep_for_later(device_id, health);
  if (known) return health_.state(device_id, std::move(health));
  if (snapshot_ && !discovering_)
    log_limited(LogLevel::kWarn, module_ + "/unknown-device",
                "health of a device that is not listed waits for the next discover",
                {{"module", module_}, {"device", device_id}, {"rule", "R6"}});
  return HealthNews::kNone;
}

void ListedDevices::keep_for_later(const std::string& device_id, const Health& health) {
  switch (kept_.put(device_id, health)) {
    case KeptHealth::Outcome::kKept: return;
    case KeptHealth::Outcome::kTooManyCauses: return health_.refuse(device_id, health);
    case KeptHealth::Outcome::kTooMuch:
      log_limited(LogLevel::kError, module_ + "/unlisted",
                  "health report is ignored: too many about devices that are not listed wait for the next discover",
                  {{"module", module_}, {"device", device_id}, {"rule", "R6"}});
  }
}

}  // namespace cardcage
