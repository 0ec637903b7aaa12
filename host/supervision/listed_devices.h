// The last good device list of one module, and the way of its health statements into ModuleHealth.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/core/clock.h"
#include "host/health/module_health.h"
#include "host/instance/kept_health.h"
#include "host/model/device.h"

namespace cardcage {

// [core] Health may be reported before the list that has its device. A report that comes while a list is made overrides
// the health in that list.
class ListedDevices {
 public:
  // `module` is its name in the configuration, for the log; it may change. `health` outlives this.
  ListedDevices(const std::string& module, Clock& clock, ModuleHealth& health)
      : module_(module), clock_(clock), health_(health) {}

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
  // What a statement about a device has changed.
  HealthNews note(const std::string& device_id, Health health);
  // For a report of an instance that has not listed its devices yet.
  void keep_for_later(const std::string& device_id, const Health& health);
  // The instance whose reports were kept is gone.
  void forget_kept() { kept_.take(); }

 private:
  void log_gone(const std::vector<std::string>& devices) const;
  void log_not_offered(const Snapshot& now) const;

  const std::string& module_;
  Clock& clock_;
  ModuleHealth& health_;
  SnapshotPtr snapshot_;
  KeptHealth kept_;  // for the next list
  bool discovering_ = false;
  std::uint64_t rescan_requests_ = 0;
  Instant rescan_requested_{};  // the first of them
};

}  // namespace cardcage
