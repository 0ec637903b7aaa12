// The health of the devices of one module, from all that is said about them: a state for each device and cause, by the
// rules in force.
//
// [core] Owned beside the module's supervisor, so it outlives instances. What counts is kept in the store: a restart of
// the daemon or of the module launders nothing.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/core/clock.h"
#include "host/health/cause.h"
#include "host/health/rules.h"
#include "host/model/device.h"
#include "host/model/health_record.h"

namespace cardcage {

// What others see of the health of a listed device that has changed.
enum class HealthNews : std::uint8_t {
  kNone,
  kText,   // what it says to people
  kState,  // also the state, a taint, or what the kubelet is told
};

class ModuleHealth {
 public:
  // `module` is its name in the configuration. `noted` is called for each event of the history, also those that only
  // this object sees. The clock and the store outlive this.
  ModuleHealth(std::string module, Clock& clock, HealthStore& store, std::function<void(const HealthEvent&)> noted);

  // Judges everything anew; what was stated is kept. `declared`: causes that are not among them, while some are
  // declared, are over: the module does not know them any more.
  HealthNews set_rules(HealthRules rules);

  // The devices from now on, with the health that the list states. Devices that left are kept, with what counts, for a
  // day and at most kMaxAbsent of them.
  HealthNews list(const Snapshot& snapshot);
  // The module's statement about a device that is known. It is refused if there is no room for another cause.
  HealthNews state(const std::string& device_id, Health health);
  // Logs that there was no room.
  void refuse(const std::string& device_id, const Health& health) const;
  // Devices, and parents of devices, that are listed or were so lately.
  bool knows(const std::string& device_id) const;

  // Time has passed.
  HealthNews advance();
  // Nothing changes by itself before then.
  Instant due() const;

  // All that counts: its own causes and those of its parent, the operator's cordon, and `others`, which are the host's
  // own. If the module is away, what it stated says nothing any more, unless it has a taint or is quarantined.
  DeviceHealth health(const Device& device, std::vector<CauseHealth> others = {}, bool away = false) const;
  // Of a device that is held but not listed.
  DeviceHealth health_of_absent(const std::string& device_id) const;

  // Operators. `name` is the device's name in Kubernetes. kNotFound if there is no such cause, with those that there
  // are.
  Task<Status> cordon(CordonRecord record);
  Task<Status> uncordon(std::string device_id, std::string by, std::string reason);
  const CordonRecord* find_cordon(const std::string& device_id) const;
  Status clear(const std::string& device_id, const std::string& cause, const std::string& by,
               const std::string& reason);

  // Devices that a remedy wants to reset now: a cause with `resets_per_day` counts, and the device has not had as many
  // in the last 24 hours.
  std::vector<std::string> resets_wanted() const;
  // A reset through the module has ended. `by` is empty for a remedy.
  void note_reset(const std::string& device_id, const std::string& by, const std::string& why, const Status& outcome);

  const HealthRules& rules() const;

  static constexpr std::size_t kMaxAbsent = 1024;
};

}  // namespace cardcage
