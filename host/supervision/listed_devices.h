// The last good device list of one module, and the health of each device.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "host/core/clock.h"
#include "host/model/device.h"

namespace cardcage {

struct DeviceHealth {
  Health health;
  std::chrono::system_clock::time_point changed;
  Instant reported;
};

// [core] Health may be reported before the list that has its device. A report that comes while a list is made overrides
// the health in that list.
class ListedDevices {
 public:
  // `module` is its name in the configuration, for the log; it may change.
  ListedDevices(const std::string& module, Clock& clock) : module_(module), clock_(clock) {}

  // Kept while the module is away; null before the first list.
  const SnapshotPtr& snapshot() const { return snapshot_; }

  // The list may be outdated: the next discover satisfies the request.
  void request_rescan() { ++rescan_requests_; }
  // Since the last discover began.
  std::uint64_t rescan_requests() const { return rescan_requests_; }
  // The running instance lists its devices; adopt() or fail_discover() follows.
  void begin_discover();
  void fail_discover();
  struct Changes {
    bool list = false;
    bool health = false;  // of a device in the list
  };
  Changes adopt(SnapshotPtr snapshot);
  // True if the health of a listed device changed.
  bool note(const std::string& device_id, Health health);
  // For a report of an instance that has not listed its devices yet.
  void keep_for_later(const std::string& device_id, const Health& health);
  // The instance whose reports were kept is gone.
  void forget_kept() { kept_.clear(); }

  // The last report, or "Silent" if the device has been silent for longer than its module allows. A taint outlasts
  // the silence.
  DeviceHealth health(const std::string& device_id) const;
  // No device falls silent before then.
  Instant next_silence() const { return next_silence_; }
  // True if a device has fallen silent since the last look.
  bool look_for_silence();

 private:
  bool set(const std::string& device_id, Health health);
  bool is_silent(const DeviceHealth& known) const;

  const std::string& module_;
  Clock& clock_;
  SnapshotPtr snapshot_;
  std::map<std::string, DeviceHealth, std::less<>> health_;
  std::map<std::string, Health> kept_;  // for the next list
  Instant next_silence_ = Instant::max(), looked_ = Instant::min();
  bool discovering_ = false;
  std::uint64_t rescan_requests_ = 0;
};

}  // namespace cardcage
