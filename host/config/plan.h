// The plan for a changed configuration: the difference between the running and the wanted one.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "host/config/config.h"
#include "host/model/served_name.h"

namespace cardcage {

struct ModuleChange {
  enum class Kind : std::uint8_t {
    kAdded,
    kRemoved,   // drains: it is removed once nothing holds its devices
    kReplaced,  // gets a new instance; the running one continues if the new one does not start
    kServed,    // keeps its instance; the rules of its health or of its devices' names change
  };
  Kind kind = Kind::kAdded;
  std::string name;
  std::string before;             // the name of the running module; empty if it is added
  std::vector<std::string> keys;  // the keys that differ, relative to [[module]]: "path", "options.devices", "health"
  friend bool operator==(const ModuleChange&, const ModuleChange&) = default;
};

struct ConfigPlan {
  std::vector<ModuleChange> modules;  // in the order of the wanted configuration, then the removed ones
  std::vector<std::string> settings;  // changed keys that take effect at once: "log.level"
  std::vector<std::string> restart;   // changed keys that take effect after a restart of the daemon: "node.state_dir"
  std::vector<ServedName> come, go;   // drivers and resources that are added and removed; a resource may be a pattern
  std::set<std::string> affected;     // drivers and resources whose devices may change; also patterns
  friend bool operator==(const ConfigPlan&, const ConfigPlan&) = default;

  // True if there is nothing to apply.
  bool empty() const { return modules.empty() && settings.empty(); }
};

// Pure. A module that only has a new name is replaced, not removed and added, since its instance holds the hardware for
// its claims.
ConfigPlan plan_change(const Config& running, const Config& wanted);

// The configuration that is in effect once the plan is carried out: `wanted`, except for keys that need a restart.
Config effective_config(const Config& running, Config wanted);

enum class PlanAction : std::uint8_t { kAdd, kRemove, kReplace, kServe, kSet, kRestart };
std::string_view to_string(PlanAction action);  // "add", "remove", ...

// One step of a plan, described for people.
struct PlanStep {
  std::string subject;  // "module gpu", "log.level", "driver gpu.example.com"
  PlanAction action = PlanAction::kSet;
  std::string detail;
  std::string module;  // the name of the module that the step changes; empty for any other step
};
std::vector<PlanStep> steps(const ConfigPlan& plan);

}  // namespace cardcage
