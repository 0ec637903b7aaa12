// What a changed configuration asks for: the difference between the one that runs and the one that is wanted.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "host/config/config.h"

namespace cardcage {

struct ModuleChange {
  enum class Kind : std::uint8_t {
    kAdded,
    kRemoved,   // drains: it goes when nothing holds its devices
    kReplaced,  // a new instance beside the running one, which goes on if the new one does not start
    kServed,    // other rules, the same instance
  };
  Kind kind = Kind::kAdded;
  std::string name;
  std::string before;             // the running one's name; empty for one that is added
  std::vector<std::string> keys;  // what differs, as below [[module]]: "path", "options.devices", "serve"
  friend bool operator==(const ModuleChange&, const ModuleChange&) = default;
};

struct ConfigPlan {
  std::vector<ModuleChange> modules;  // in the order of the wanted configuration, then those that are removed
  std::vector<std::string> settings;  // keys that are applied as they are: "log.level"
  std::vector<std::string> restart;   // keys whose change has to wait for a restart of the daemon: "node.state_dir"
  std::vector<std::string> come, go;  // drivers and resources
  std::set<std::string> affected;     // drivers and resources whose devices may be others than before
  friend bool operator==(const ConfigPlan&, const ConfigPlan&) = default;

  // Nothing that would be applied.
  bool empty() const { return modules.empty() && settings.empty(); }
};

// Pure. A module that only has another name goes on under it, since its instance holds the hardware for its claims.
ConfigPlan plan_change(const Config& running, const Config& wanted);

// What runs when the plan was carried out: `wanted`, with what cannot change as it is.
Config after(const Config& running, Config wanted);

// One step of a plan for people.
struct PlanStep {
  std::string subject;  // "module gpu", "log.level", "driver gpu.example.com"
  std::string action;   // one word: "add", "remove", "replace", "serve", "set", "restart"
  std::string detail;
};
std::vector<PlanStep> steps(const ConfigPlan& plan);

}  // namespace cardcage
