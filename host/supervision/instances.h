// Loads, starts, calls and stops the instances of one module.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "host/loader/loader.h"
#include "host/supervision/device_care.h"
#include "host/supervision/instance_events.h"
#include "host/supervision/label_collector.h"
#include "host/supervision/leftovers.h"

namespace cardcage {

// [core] Besides the current instance there may be one that is tried out to replace it, and replaced ones that end
// their calls.
class Instances {
 public:
  // `left` gets the leftover of a failed attempt.
  struct Loader {
    // Copies and checks the module's file without running any of it.
    std::function<Task<Result<ModuleBuild>>(const ModuleConfig&, Instant deadline, Leftover& left)> stage;
    std::function<Task<Result<std::shared_ptr<Module>>>(const ModuleConfig&, ModuleBuild, Instant deadline,
                                                        Leftover& left)>
        load;
  };
  // All references outlive this.
  Instances(SupervisedModule& module, ModuleDevices& devices, DeviceCare& care, LabelCollector& labels, Loader loader);

  Task<Result<ModuleBuild>> stage(ModuleConfig config);
  Task<Result<std::shared_ptr<Module>>> load(ModuleConfig config, ModuleBuild build);
  // Fails if the build has another module id than the last one that served, or than the one that prepared a live claim.
  Status check_id(const ModuleIdentity& build) const;
  Task<Status> start(std::shared_ptr<Module> instance);
  // Repeats the quiesce of devices for an instance that is new or has resumed, and does not know them.
  Task<void> repeat_device_quiesces(std::shared_ptr<Module> instance);

  // These are about the current instance.
  Task<Status> discover();
  ListedDevices::Changes adopt(SnapshotPtr devices);
  Task<Status> reconcile();
  // Returns null if it subscribes to no events.
  InstanceEvents* events() const { return events_of(module_.instance); }
  Instant events_due() const { return events() ? events()->due() : Instant::max(); }
  Task<void> deliver_events();
  Task<void> release();

  // Returns true if the instance has failed and cannot be called any more.
  bool lost(const std::shared_ptr<Module>& instance) const {
    const auto found = started_.find(instance.get());
    return found != started_.end() && found->second.lost;
  }
  Task<void> stop(std::shared_ptr<Module> instance);
  Leftovers& leftovers() { return leftovers_; }

 private:
  ModuleEvents callbacks(const std::shared_ptr<Module>& instance);
  InstanceEvents* events_of(const std::shared_ptr<Module>& instance) const;

  // An instance that has started and not stopped.
  struct Started {
    std::unique_ptr<InstanceEvents> events;  // null if it subscribes to none
    bool lost = false;
  };
  SupervisedModule& module_;
  ModuleDevices& devices_;
  DeviceCare& care_;
  LabelCollector& labels_;
  const Loader loader_;
  std::map<const Module*, Started> started_;
  Leftovers leftovers_;
};

}  // namespace cardcage
