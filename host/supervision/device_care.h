// Tells the daemon what changes in the health of a module's devices, resets devices that a rule wants reset, and
// executes the commands of operators for devices.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "host/core/delayed_call.h"
#include "host/core/paced_call.h"
#include "host/core/task_group.h"
#include "host/supervision/command.h"
#include "host/supervision/module_devices.h"

namespace cardcage {

// [core]
class DeviceCare {
 public:
  // Both outlive this.
  DeviceCare(SupervisedModule& module, ModuleDevices& devices);

  // Judges the devices by the configured rules, as far as they fit the newest instance.
  void update_rules();
  const std::optional<Error>& rules_refused() const { return rules_refused_; }
  // Reports a change of a device's health to the supervisor's listener.
  void tell(HealthNews news);
  // The result of SupervisorListener::stuck has changed for a device.
  void stuck_changed() { states_told_.request(); }
  // Sets the timer for the next change of health that no call causes.
  void set_timer();
  // Resets one free device that a rule requires to be reset, and schedules the next check.
  void heal();
  Task<Result<std::string>> execute(DeviceCommand command);
  // Returns whether a device was reset since the last call, so that the module must check its devices.
  bool take_check_request() { return std::exchange(check_requested_, false); }
  // Waits for resets. They end with the instance at the latest.
  Task<void> stop();

 private:
  Task<Result<std::string>> cordon(DeviceCommand command, Device device);
  Task<Result<std::string>> uncordon(DeviceCommand command, Device device);
  Task<Result<std::string>> reset(DeviceCommand command, Device device);
  Task<void> run_reset(DeviceCommand command, Device device, OneShot<Status> done);

  SupervisedModule& module_;
  ModuleDevices& devices_;
  ModuleHealth& statements_;
  std::optional<Error> rules_refused_;
  PacedCall states_told_, texts_told_;
  DelayedCall due_, healing_;
  Instant timer_ = Instant::max();  // time of due_
  TaskGroup resets_;
  bool check_requested_ = false;
};

}  // namespace cardcage
