// Replaces the instance of a module by one of a new file or configuration.
#pragma once

#include <memory>
#include <vector>

#include "host/core/task_group.h"
#include "host/supervision/instances.h"

namespace cardcage {

// [core] The new instance starts beside the running one, which it replaces once it has listed its devices; if that
// fails, the running instance continues.
class Replacement {
 public:
  // All arguments outlive this.
  Replacement(SupervisedModule& module, ModuleDevices& devices, DeviceCare& care, Instances& instances)
      : module_(module), devices_(devices), care_(care), instances_(instances), retirements_(module.core) {}

  // Returns true if one is requested, and nothing of a former instance is left.
  bool due() const;
  Task<void> run();
  // Returns true while a replaced instance still ends its calls.
  bool any_retired() const { return !retired_.empty(); }
  Task<void> join_retired(Instant deadline) { return retirements_.join(module_.clock, deadline); }
  Task<void> stop_retired();

 private:
  Task<bool> try_options(ModuleConfig tried);
  void refuse(const Error& error);
  Task<Result<SnapshotPtr>> try_out(std::shared_ptr<Module> next);
  // Returns true if the new instance stays.
  Task<bool> take_over(std::shared_ptr<Module> next, SnapshotPtr devices);
  void log_take_over(const ModuleIdentity& next) const;
  void go_back(std::shared_ptr<Module> old, SnapshotPtr devices, ModuleConfig before, const Error& why);
  void retire(std::shared_ptr<Module> instance);
  Task<void> stop_when_idle(std::shared_ptr<Module> instance);

  SupervisedModule& module_;
  ModuleDevices& devices_;
  DeviceCare& care_;
  Instances& instances_;
  std::vector<std::shared_ptr<Module>> retired_;  // replaced; they end their calls
  TaskGroup retirements_;
};

}  // namespace cardcage
