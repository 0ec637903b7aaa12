// The devices of one module: the last good list, and their health as others see it.
#pragma once

#include <optional>
#include <string>

#include "host/health/module_health.h"
#include "host/supervision/listed_devices.h"
#include "host/supervision/supervised_module.h"

namespace cardcage {

// [core]
class ModuleDevices {
 public:
  // Both outlive this.
  ModuleDevices(SupervisedModule& module, HealthStore& records);

  ListedDevices& list() { return list_; }
  const SnapshotPtr& snapshot() const { return list_.snapshot(); }
  // Returns the statements of the module and of operators.
  ModuleHealth& statements() { return statements_; }
  const ModuleHealth& statements() const { return statements_; }
  // Also finds an unlisted device whose partitions are listed.
  Result<Device> find(const std::string& name_or_id) const;

  // See Supervisor, for these three.
  DeviceHealth health(const Device& device) const;
  DeviceHealth reported_health(const Device& device) const;
  std::string why_withheld(const Device& device) const;

  // Returns an operator's mark: the device's own, or that of the device that it is a part of; null if it has none.
  const QuiesceMark* mark_of(const Device& device) const;
  // Names a quiesced device, for people; empty if no single device is quiesced.
  std::string quiesced_warning() const;
  // Names a device that is left out of the list, for people; empty if none is.
  std::string left_out_warning() const;

  // One device at a time is reset. An empty id ends the reset.
  void set_being_reset(std::string device_id) { being_reset_ = std::move(device_id); }
  const std::string& being_reset() const { return being_reset_; }

 private:
  DeviceHealth health(const Device& device, std::optional<CauseHealth> away) const;
  bool is_being_reset(const Device& device) const;
  std::optional<CauseHealth> health_while_quiesced(const Device& device) const;
  // Returns the host's cause while a claim has another device that had the name of this one, or of its parent.
  std::optional<CauseHealth> health_while_replaced(const Device& device) const;

  SupervisedModule& module_;
  ModuleHealth statements_;
  ListedDevices list_;
  std::string being_reset_;
};

}  // namespace cardcage
