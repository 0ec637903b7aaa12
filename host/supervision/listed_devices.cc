#include "host/supervision/listed_devices.h"

#include <algorithm>
#include <utility>

#include "host/core/log.h"

namespace cardcage {

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
  for (const Device& device : snapshot->devices) {
    Known& known = health_[device.id];
    if (known.listed.time_since_epoch().count() == 0) known.listed = clock_.wall();
    // A list without health does not override earlier reports: a module may learn of health from events only.
    if (device.health != Health{}) set(device.id, device.health);
  }
  std::erase_if(health_, [&](const auto& entry) { return !snapshot->find(entry.first); });
  Changes changes{.list = !snapshot_ || *snapshot_ != *snapshot};
  snapshot_ = std::move(snapshot);
  for (const auto& [device_id, statements] : kept_.take())
    if (snapshot_->find(device_id))
      for (const auto& [cause, health] : statements) changes.health |= set(device_id, health);
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
  switch (kept_.put(device_id, health)) {
    case KeptHealth::Outcome::kKept: return;
    case KeptHealth::Outcome::kTooManyCauses: refuse(device_id, health); return;
    case KeptHealth::Outcome::kTooMuch:
      log_limited(LogLevel::kError, module_ + "/unlisted",
                  "health report is ignored: too many about devices that are not listed wait for the next discover",
                  {{"module", module_}, {"device", device_id}});
  }
}

bool ListedDevices::set(const std::string& device_id, Health health) {
  auto& causes = health_[device_id].causes;
  const bool first = !causes.contains(health.cause);
  if (first && !make_room(causes, health, &Statement::health)) return refuse(device_id, health);
  Statement& entry = causes[health.cause];
  entry.reported = clock_.now();
  if (health.timeout.count() > 0) next_silence_ = std::min(next_silence_, entry.reported + health.timeout);
  if (entry.health == health && !first) return false;
  const HealthState before = entry.health.state;
  entry.health = std::move(health);
  entry.changed = clock_.wall();
  log_change(device_id, before, entry.health);
  return true;
}

bool ListedDevices::refuse(const std::string& device_id, const Health& health) const {
  log_limited(LogLevel::kError, module_ + "/causes",
              fmt::format("health report is ignored: the device has {} causes that are no better; name causes for what "
                          "can be wrong with a device, not for events, and report those that are over as OK [R6]",
                          kMaxCauses),
              {{"module", module_}, {"device", device_id}, {"cause", health.cause}});
  return false;
}

// The first statement about a cause is logged only if it is not good.
void ListedDevices::log_change(const std::string& device_id, HealthState before, const Health& now) const {
  if (now.state == before) return;
  const auto write = [&](LogLevel level, std::string_view state, std::string_view text) {
    const std::string key = fmt::format("{} {} {}", module_, device_id, state);
    if (now.state == HealthState::kHealthy)
      return log_limited(level, key, text, {{"module", module_}, {"device", device_id}, {"cause", now.cause}});
    log_limited(level, key, text,
                {{"module", module_},
                 {"device", device_id},
                 {"cause", now.cause},
                 {"reason", now.reason},
                 {"message", now.message}});
  };
  switch (now.state) {
    case HealthState::kHealthy:
      if (before != HealthState::kUnhealthy) return;
      if (health(device_id).health.state == HealthState::kHealthy)
        return write(LogLevel::kInfo, "healthy", "device is healthy again");
      return write(LogLevel::kInfo, "better", "one cause of the device's health is over, others remain");
    case HealthState::kUnhealthy: return write(LogLevel::kWarn, "unhealthy", "device is unhealthy");
    case HealthState::kUnknown: return write(LogLevel::kWarn, "unknown", "health of the device is unknown");
    case HealthState::kUnmonitored: return write(LogLevel::kInfo, "unmonitored", "device is not monitored");
  }
}

Health ListedDevices::now(const Statement& statement) const {
  const Health& health = statement.health;
  const bool silent = health.timeout.count() > 0 && clock_.now() - statement.reported >= health.timeout;
  if (!silent || advised_taint(health) != TaintEffect::kNone) return health;
  const std::string about = health.cause.empty() ? "" : " about " + health.cause;
  return {.reason = "Silent",
          .message = fmt::format("no report{} for {} s", about, health.timeout.count()),
          .cause = health.cause};
}

DeviceHealth ListedDevices::health(const std::string& device_id, std::optional<CauseHealth> away,
                                   std::optional<CauseHealth> stuck) const {
  const auto known = health_.find(device_id);
  std::vector<CauseHealth> causes;
  if (known != health_.end())
    for (const auto& [cause, statement] : known->second.causes)
      if ((!stuck || cause != stuck->health.cause) && (!away || advised_taint(statement.health) != TaintEffect::kNone))
        causes.push_back({now(statement), statement.changed});
  if (away) causes.push_back(*std::move(away));
  if (stuck) causes.push_back(*std::move(stuck));
  DeviceHealth device = compose(std::move(causes));
  if (device.causes.empty() && known != health_.end()) device.changed = known->second.listed;
  return device;
}

bool ListedDevices::look_for_silence() {
  const Instant now = clock_.now(), before = std::exchange(looked_, now);
  bool fell_silent = false;
  next_silence_ = Instant::max();
  for (const auto& [device_id, known] : health_) {
    for (const auto& [cause, statement] : known.causes) {
      if (statement.health.timeout.count() == 0) continue;
      const Instant due = statement.reported + statement.health.timeout;
      if (due > now)
        next_silence_ = std::min(next_silence_, due);
      else
        fell_silent |= due > before;
    }
  }
  return fell_silent;
}

}  // namespace cardcage
