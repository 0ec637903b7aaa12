// Has a module check its devices, all of them every 30 s.
#pragma once

#include <string>

#include "host/supervision/module_commands.h"
#include "host/supervision/module_devices.h"

namespace cardcage {

// [core] A sweep ends early when a command of an operator waits; the next one continues there.
class HealthChecks {
 public:
  // All arguments outlive this.
  HealthChecks(SupervisedModule& module, const ModuleDevices& devices, const ModuleCommands& commands)
      : module_(module), devices_(devices), commands_(commands) {}

  // Sets due() to the usual time after now.
  void schedule();
  Instant due() const { return due_; }
  Task<void> sweep();

 private:
  SupervisedModule& module_;
  const ModuleDevices& devices_;
  const ModuleCommands& commands_;
  Instant due_{};
  std::string next_device_;  // id of the first device of the next sweep
};

}  // namespace cardcage
