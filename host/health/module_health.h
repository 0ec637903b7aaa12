// The health of the devices of one module, from all statements about them: a state for each device and cause, by the
// rules in force.
//
// [core] Owned beside the module's supervisor, so it outlives instances. Causes that count are kept in the store: a
// restart of the daemon or of the module does not clear them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "host/core/clock.h"
#include "host/health/cause.h"
#include "host/health/rules.h"
#include "host/model/device.h"
#include "host/model/health_record.h"

namespace cardcage {

// How much of a listed device's health has changed for others; a greater value is more.
enum class HealthNews : std::uint8_t {
  kNone,
  kText,   // its texts
  kState,  // also the state, a taint, or the health for the kubelet
};

class ModuleHealth {
 public:
  // `module` is its name in the configuration. `noted` is called for each event of the history, also for events that
  // only this object sees. The clock and the store outlive this.
  ModuleHealth(std::string module, Clock& clock, HealthStore& store, std::function<void(const HealthEvent&)> noted);

  // Judges everything again; statements are kept. Causes that the module does not declare any more are over, since no
  // report could end them, except for a quarantine, which an operator ends.
  HealthNews set_rules(HealthRules rules);

  // Sets the devices from now on, with the health that the list states. Devices that left are kept, with the causes
  // that count, for a day and at most kMaxAbsent of them; cordons and causes that only an operator ends stay until one
  // does. Statements that are newer than the list replace its own about the same device and cause.
  HealthNews list(const Snapshot& snapshot, const std::map<std::string, Statements>& newer = {});
  // Takes the module's statement about a device that it knows. Refuses it if the device has no room for another cause.
  HealthNews state(const std::string& device_id, Health health);
  // Logs the refusal.
  void refuse(const std::string& device_id, const Health& health) const;
  // True for devices, and parents of devices, that are listed or were so lately.
  bool knows(const std::string& device_id) const;

  // Call it when time has passed.
  HealthNews advance();
  // The earliest time of a change without a call.
  Instant due() const;

  // All causes that count: the device's own and those of its parent, the operator's cordon, and `others`, which are the
  // host's own and replace causes of the same name. While the module is away, its statements have no effect, except for
  // a taint or a quarantine.
  DeviceHealth health(const Device& device, std::vector<CauseHealth> others = {}, bool away = false) const;
  // The health of a device that is held but not listed.
  DeviceHealth health_of_absent(const std::string& device_id) const;

  // For operators. `name` is the device's name in Kubernetes. kNotFound if the cause does not exist; the text lists the
  // existing ones.
  Task<Status> cordon(CordonRecord record);
  Task<Status> uncordon(std::string device_id, std::string by, std::string reason);
  const CordonRecord* find_cordon(const std::string& device_id) const;
  // Finds a device by id or name, also one that is not listed any more. Null if it is forgotten.
  std::optional<Device> find_device(const std::string& name_or_id) const;
  Status clear(const std::string& device_id, const std::string& cause, const std::string& by,
               const std::string& reason);

  // Devices that a remedy wants to reset now: a cause with `resets_per_day` counts, and the device has had fewer resets
  // in the last 24 hours.
  std::vector<std::string> resets_wanted() const;
  // Counts an attempt to reset the device. Await it before the attempt, so that a restart of the daemon does not forget
  // it.
  Task<Status> count_reset(std::string device_id);
  // Notes the end of a reset through the module. `by` is empty for a remedy.
  void note_reset(const std::string& device_id, const std::string& by, const std::string& why, const Status& outcome);

  const HealthRules& rules() const { return rules_; }
  // Sets the module's name in the configuration from now on.
  Task<void> rename(std::string module);

  static constexpr std::size_t kMaxAbsent = 1024;

 private:
  static constexpr Duration kMaxAbsence = std::chrono::hours(24);
  struct Tracked {
    Cause cause;
    Instant scheduled = Instant::max();  // its place in due_
    bool kept = false;                   // the store has a record
    Instant kept_at{};
  };
  using Causes = std::map<std::string, Tracked>;
  struct Known {
    std::string name, parent_id;
    bool listed = false, parent = false;  // itself, or a partition of it
    std::chrono::system_clock::time_point listed_since;
    std::optional<Instant> left;  // time since which both are false
    bool gone = false;            // it was listed, and its departure is in the history
    Causes causes;
    std::optional<CordonRecord> cordon;
    std::vector<Instant> resets;  // within the last kResetPeriod, oldest first
  };
  using Devices = std::map<std::string, Known, std::less<>>;
  struct Shown {  // state of one cause for listeners
    HealthState state = HealthState::kHealthy;
    TaintRule taint;  // its value defaults to the reason
    std::optional<KubeletHealth> kubelet;
    bool quarantined = false;
    friend bool operator==(const Shown&, const Shown&) = default;
  };

  Moment moment() const { return {clock_.now(), clock_.wall()}; }
  RuleOf rule_of(const std::string& cause) const;
  void load();
  static Shown shown(const Tracked& tracked);
  HealthNews state(Devices::iterator device, Health health, Moment now);
  bool make_room_for(Devices::iterator device, const Health& wanted);
  void schedule(const std::string& device_id, const std::string& cause, Tracked& tracked, Instant due);
  void drop(Devices::iterator device, Causes::iterator cause);
  void drop(Devices::iterator device);
  HealthEvent event(HealthEventKind kind, const std::string& device_id, const Known& known) const;
  void note(HealthEvent event);
  void note_cause(HealthEventKind kind, Devices::const_iterator device, const CauseHealth& counts, std::string by = {},
                  std::string why = {});
  HealthNews follow(Devices::iterator device, Causes::iterator cause, const Shown& before, bool changed, Moment now,
                    std::string why = {});
  void keep(Devices::iterator device, Causes::iterator cause, bool changed, Moment now);
  void log_change(Devices::const_iterator device, HealthState before, const Health& now) const;
  bool is_well(const Known& known) const;
  bool needs_operator(const std::string& cause, const Tracked& tracked) const;
  bool needs_operator(const Known& known) const;
  void mark_listed(const Snapshot& snapshot);
  void mark_left(Instant now);
  void drop_excess();
  std::vector<CauseHealth> causes_of(const Known& known, bool away) const;
  void add_parent(const std::string& parent_id, bool away, std::vector<CauseHealth>& causes) const;

  std::string module_;
  Clock& clock_;
  HealthStore& store_;
  const std::function<void(const HealthEvent&)> noted_;
  HealthRules rules_;
  bool has_remedy_ = false;
  Devices devices_;
  // The times of changes without a call, so that a signal costs the same with many devices as with few.
  std::set<std::tuple<Instant, std::string, std::string>> due_;
  std::set<std::pair<Instant, std::string>> leaving_;  // times when absent devices are forgotten
};

}  // namespace cardcage
