// The last good device list of one module, and what the module says about the health of each device.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "host/core/clock.h"
#include "host/instance/kept_health.h"
#include "host/model/device.h"

namespace cardcage {

// [core] Each device and cause has one statement, the last. Health may be reported before the list that has its device.
// A report that comes while a list is made overrides the health in that list.
class ListedDevices {
 public:
  // `module` is its name in the configuration, for the log; it may change.
  ListedDevices(const std::string& module, Clock& clock) : module_(module), clock_(clock) {}

  // Kept while the module is away; null before the first list.
  const SnapshotPtr& snapshot() const { return snapshot_; }

  // The list may be outdated: the next discover satisfies the request.
  void request_rescan() {
    if (rescan_requests_++ == 0) rescan_requested_ = clock_.now();
  }
  // When the first request came that no discover has satisfied.
  std::optional<Instant> rescan_requested() const {
    return rescan_requests_ > 0 ? std::optional(rescan_requested_) : std::nullopt;
  }
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
  // True if the statement about a cause of a listed device changed.
  bool note(const std::string& device_id, Health health);
  // For a report of an instance that has not listed its devices yet.
  void keep_for_later(const std::string& device_id, const Health& health);
  // The instance whose reports were kept is gone.
  void forget_kept() { kept_.take(); }

  // What the last statements about the causes amount to. A cause about which the module has been silent for longer than
  // it allows is unknown, "Silent". While the module is `away`, all is unknown but what has a taint: a taint outlasts
  // silence and absence, since only the module can say that the device is well again. `stuck` is a cause of the host's
  // own, and takes the place of one of that name.
  DeviceHealth health(const std::string& device_id, std::optional<CauseHealth> away = {},
                      std::optional<CauseHealth> stuck = {}) const;
  // No cause falls silent before then.
  Instant next_silence() const { return next_silence_; }
  // True if one has fallen silent since the last look.
  bool look_for_silence();

 private:
  struct Statement {
    Health health;
    std::chrono::system_clock::time_point changed;
    Instant reported;
  };
  struct Known {  // about one device
    std::chrono::system_clock::time_point listed;
    std::map<std::string, Statement> causes;
  };
  bool set(const std::string& device_id, Health health);
  bool refuse(const std::string& device_id, const Health& health) const;
  void log_change(const std::string& device_id, HealthState before, const Health& now) const;
  Health now(const Statement& statement) const;

  const std::string& module_;
  Clock& clock_;
  SnapshotPtr snapshot_;
  std::map<std::string, Known> health_;
  KeptHealth kept_;  // for the next list
  Instant next_silence_ = Instant::max(), looked_ = Instant::min();
  bool discovering_ = false;
  std::uint64_t rescan_requests_ = 0;
  Instant rescan_requested_{};  // the first of them
};

}  // namespace cardcage
