// The last good device list of one module; passes its health statements to ModuleHealth.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/core/clock.h"
#include "host/health/module_health.h"
#include "host/model/device.h"
#include "host/sinks/kept_health.h"

namespace cardcage {

// [core] A health report may arrive before the list that has its device. A report that arrives while a list is made
// overrides the health in that list.
class ListedDevices {
 public:
  // `module` is the name in the configuration, for the log; it may change. `health` outlives this.
  ListedDevices(const std::string& module, Clock& clock, ModuleHealth& health)
      : module_(module), clock_(clock), health_(health) {}

  // Kept while the module is away; null before the first list.
  const SnapshotPtr& snapshot() const { return snapshot_; }

  // The list may be outdated: the next discover satisfies the request.
  void request_rescan() {
    if (rescan_requests_++ == 0) rescan_requested_ = clock_.now();
  }
  // Returns the time of the first request that no discover has satisfied.
  std::optional<Instant> rescan_requested() const {
    return rescan_requests_ > 0 ? std::optional(rescan_requested_) : std::nullopt;
  }
  // Returns the requests since the last discover began.
  std::uint64_t rescan_requests() const { return rescan_requests_; }
  // The running instance lists its devices; adopt() or fail_discover() follows.
  void begin_discover();
  void fail_discover();
  struct Changes {
    bool list = false;
    bool health = false;  // health of a listed device
  };
  Changes adopt(SnapshotPtr snapshot);
  // Returns the changes made by a statement about a device.
  HealthNews note(const std::string& device_id, Health health);
  // Keeps a report of an instance that has not listed its devices yet.
  void keep_for_later(const std::string& device_id, const Health& health);
  // Forgets the kept reports: their instance is gone.
  void forget_kept() { kept_.take(); }

 private:
  void log_gone(const std::vector<std::string>& devices) const;
  void log_not_offered(const Snapshot& now) const;

  const std::string& module_;
  Clock& clock_;
  ModuleHealth& health_;
  SnapshotPtr snapshot_;
  KeptHealth kept_;  // reports for the next list
  bool discovering_ = false;
  std::uint64_t rescan_requests_ = 0;
  Instant rescan_requested_{};  // time of the first open request
};

}  // namespace cardcage
