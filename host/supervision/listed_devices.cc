#include "host/supervision/listed_devices.h"

#include <algorithm>
#include <utility>

#include "host/core/log.h"
#include "host/instance/snapshot_sink.h"

namespace cardcage {
namespace {

// The first report of a device is logged only if it is bad.
void log_health(const std::string& module, const std::string& device, HealthState before, const Health& now) {
  if (now.state == before || (now.state == HealthState::kHealthy && before == HealthState::kUnknown)) return;
  if (now.state == HealthState::kHealthy)
    return log_limited(LogLevel::kInfo, fmt::format("{} {} healthy", module, device), "device is healthy again",
                       {{"module", module}, {"device", device}});
  const bool bad = now.state == HealthState::kUnhealthy;
  log_limited(LogLevel::kWarn, fmt::format("{} {} {}", module, device, bad ? "unhealthy" : "unknown"),
              bad ? "device is unhealthy" : "health of the device is unknown",
              {{"module", module}, {"device", device}, {"reason", now.reason}, {"message", now.message}});
}

}  // namespace

void ListedDevices::begin_discover() {
  discovering_ = true;
  rescan_requests_ = 0;
}

void ListedDevices::fail_discover() {
  discovering_ = false;
  kept_.clear();
}

ListedDevices::Changes ListedDevices::adopt(SnapshotPtr snapshot) {
  discovering_ = false;
  for (const Device& device : snapshot->devices) {
    // A list without health does not override earlier reports: a module may learn of health from events only.
    if (device.health != Health{} || !health_.contains(device.id)) set(device.id, device.health);
  }
  std::erase_if(health_, [&](const auto& entry) { return !snapshot->find(entry.first); });
  Changes changes{.list = !snapshot_ || *snapshot_ != *snapshot};
  snapshot_ = std::move(snapshot);
  for (const auto& [device_id, health] : std::exchange(kept_, {}))
    if (snapshot_->find(device_id)) changes.health |= set(device_id, health);
  return changes;
}

bool ListedDevices::note(const std::string& device_id, Health health) {
  const bool listed = snapshot_ && snapshot_->find(device_id);
  if (discovering_ || !listed) keep_for_later(device_id, health);
  if (listed) return set(device_id, std::move(health));
  if (snapshot_ && !discovering_)
    log_limited(LogLevel::kWarn, module_ + "/unknown-device",
                "health of a device that is not listed waits for the next discover",
                {{"module", module_}, {"device", device_id}});
  return false;
}

void ListedDevices::keep_for_later(const std::string& device_id, const Health& health) {
  if (kept_.size() < kMaxDevices || kept_.contains(device_id)) kept_.insert_or_assign(device_id, health);
}

bool ListedDevices::set(const std::string& device_id, Health health) {
  DeviceHealth& entry = health_[device_id];
  entry.reported = clock_.now();
  if (health.timeout.count() > 0) next_silence_ = std::min(next_silence_, entry.reported + health.timeout);
  if (entry.health == health && entry.changed.time_since_epoch().count() != 0) return false;
  log_health(module_, device_id, entry.health.state, health);
  entry.health = std::move(health);
  entry.changed = clock_.wall();
  return true;
}

DeviceHealth ListedDevices::health(const std::string& device_id) const {
  const auto entry = health_.find(device_id);
  DeviceHealth known = entry != health_.end() ? entry->second : DeviceHealth{};
  if (is_silent(known) && advised_taint(known.health) == TaintEffect::kNone)
    known.health =
        Health{.reason = "Silent", .message = fmt::format("no report for {} s", known.health.timeout.count())};
  return known;
}

bool ListedDevices::look_for_silence() {
  const Instant now = clock_.now(), before = std::exchange(looked_, now);
  bool fell_silent = false;
  next_silence_ = Instant::max();
  for (const auto& [device_id, known] : health_) {
    if (known.health.timeout.count() == 0) continue;
    const Instant due = known.reported + known.health.timeout;
    if (due > now)
      next_silence_ = std::min(next_silence_, due);
    else
      fell_silent |= due > before;
  }
  return fell_silent;
}

bool ListedDevices::is_silent(const DeviceHealth& known) const {
  return known.health.timeout.count() > 0 && clock_.now() - known.reported >= known.health.timeout;
}

}  // namespace cardcage
