// What a module has said of its devices: the last good list, and the health of each.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "host/core/clock.h"
#include "host/model/device.h"

namespace cardcage {

struct DeviceHealth {
  Health health;
  std::chrono::system_clock::time_point changed;
  Instant reported;
};

// [core] Health may be told of a device before the list that has it; what is told while a list is made goes over what
// that one says.
class ListedDevices {
 public:
  // `module` is its name in the configuration, which may change, for the log.
  ListedDevices(const std::string& module, Clock& clock) : module_(module), clock_(clock) {}

  // The last good one, also while the module is away; null before the first.
  const SnapshotPtr& snapshot() const { return snapshot_; }

  // A new list is being made, by the running instance; the end comes with adopt() or failed().
  void expect() { discovering_ = true; }
  void failed();
  struct News {
    bool list = false;    // the list differs
    bool health = false;  // that of a device does
  };
  News adopt(SnapshotPtr snapshot);
  // Whether it is news.
  bool note(const std::string& device_id, Health health);
  // Told by an instance whose list is not there yet.
  void keep_for_later(const std::string& device_id, const Health& health);
  // What was kept, of an instance that is no more.
  void forget_kept() { heard_.clear(); }

  // As it was told last, or that the device has been silent for longer than its module allows.
  DeviceHealth health(const std::string& device_id) const;
  bool any_silent() const;

 private:
  bool set(const std::string& device_id, Health health);
  bool is_silent(const DeviceHealth& known) const;

  const std::string& module_;
  Clock& clock_;
  SnapshotPtr snapshot_;
  std::map<std::string, DeviceHealth, std::less<>> health_;
  std::map<std::string, Health> heard_;
  bool discovering_ = false;
};

}  // namespace cardcage
