// One module under supervision: its lifecycle, its current instance, and the daemon that hears about both.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/core/fault_point.h"
#include "host/core/wakeup.h"
#include "host/events/event_sources.h"
#include "host/loader/loader.h"
#include "host/model/device.h"
#include "host/model/health_record.h"
#include "host/model/module.h"
#include "host/supervision/lifecycle.h"

namespace cardcage {

class Supervisor;

// The part of a module that has changed. Lists of devices, slices and pages follow only the parts that they show.
enum class SupervisorEvent : std::uint8_t {
  kState,       // its state, configuration or reason to drain, and with it the health of all its devices
  kList,        // a first or different list of devices, or another health in it
  kHealth,      // the health of devices, or whether claims may get them
  kHealthText,  // only texts about their health
  kLabels,      // its node labels were collected
};
// Returns true for events that change whether others may call the module, or which devices it lists.
inline bool is_of_module(SupervisorEvent event) {
  return event == SupervisorEvent::kState || event == SupervisorEvent::kList;
}

struct SupervisorListener {
  std::function<void(const Supervisor&, SupervisorEvent)> changed;
  // The claims that a module may keep. An instance gets them after its first discover, before other calls.
  std::function<std::vector<ModuleClaim>(const std::string& module)> live_claims;
  FaultHook fault = {};
  EventSources* sources = nullptr;  // events for modules; outlives the supervisor. Null = no events
  // Returns the host's own cause of a device's health while an access holds its hardware; nothing otherwise.
  std::function<std::optional<CauseHealth>(const std::string& module, const std::string& device_id)> stuck = {};
  // Names the claim with another device that had this one's name before; empty if none does.
  std::function<std::string(const std::string& module, const Device& device)> replaced = {};
  // Called for each event in the health of a device.
  std::function<void(const HealthEvent&)> health_event = [](const HealthEvent&) {};
  // Names the holder of the device or of one of its partitions, for people: "claim 'default/train'"; empty if it has
  // none.
  std::function<std::string(const Supervisor&, const Device&)> holders = [](const Supervisor&, const Device&) {
    return std::string();
  };
};

// [core] The parts of a supervisor share it. All references outlive it.
struct SupervisedModule {
  const std::string& name() const { return life.config().name; }
  std::string subject() const { return fmt::format("module '{}'", name()); }  // for errors
  // Returns the instance, or the reason why others may not call it.
  Result<std::shared_ptr<Module>> usable() const {
    if (Status usable = life.usable(); !usable) return std::unexpected(std::move(usable.error()));
    if (!instance) return fail(Code::kUnavailable, "module '{}' is being stopped", name());
    return instance;
  }
  Instant start_deadline() const { return clock.now() + deadlines.start; }
  Instant discover_deadline() const { return clock.now() + deadlines.discover; }
  Instant stop_deadline() const { return clock.now() + deadlines.stop; }
  // The instance serves. Two instances inside the daemon would share one mapped copy and its variables, so there a
  // build is used once.
  void keep_build(ModuleBuild served) {
    build = std::move(served);
    last_good_build = life.config().isolation == Isolation::kProcess ? build : nullptr;
    served_id = identity->id;
  }
  void changed(SupervisorEvent event) const { listener.changed(supervisor, event); }
  std::string holders(const Device& device) const { return listener.holders(supervisor, device); }

  asio::io_context& core;
  Clock& clock;
  QuiesceMarks& marks;
  const Supervisor& supervisor;  // only for the listener
  const SupervisorListener listener;
  DeadlineConfig deadlines;
  Lifecycle life;
  Wakeup wakeup{core};                          // wakes the supervisor
  std::shared_ptr<Module> instance = {};        // the current one; null while none runs
  std::optional<ModuleIdentity> identity = {};  // identity of the newest instance
  ModuleBuild build = {};                       // build of the running or loading instance
  ModuleBuild last_good_build = {};       // build of the instance that served last; null if it runs inside the daemon
  std::optional<Error> broken_file = {};  // why the instance runs the last good build
  std::string served_id = {};  // id of the module that served last; empty before the first, and once it has drained
};

}  // namespace cardcage
