#include "host/supervision/listed_devices.h"

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
  Changes changes{.list = !snapshot_ || *snapshot_ != *snapshot};
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
                {{"module", module_}, {"device", device_id}});
  return HealthNews::kNone;
}

void ListedDevices::keep_for_later(const std::string& device_id, const Health& health) {
  switch (kept_.put(device_id, health)) {
    case KeptHealth::Outcome::kKept: return;
    case KeptHealth::Outcome::kTooManyCauses: return health_.refuse(device_id, health);
    case KeptHealth::Outcome::kTooMuch:
      log_limited(LogLevel::kError, module_ + "/unlisted",
                  "health report is ignored: too many about devices that are not listed wait for the next discover",
                  {{"module", module_}, {"device", device_id}});
  }
}

}  // namespace cardcage
