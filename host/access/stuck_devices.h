// Devices whose hardware is held by an access that the kernel does not end.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/core/task.h"
#include "host/model/health.h"
#include "host/model/health_record.h"
#include "host/process/child_process.h"

namespace cardcage {

// An access that runs in a process of its own; see make_access().
struct RunningAccess {
  DeviceKey device;
  std::string what;  // "a write to '/sys/.../reset'"
  std::chrono::system_clock::time_point since;
  std::shared_ptr<ChildProcess> process;
  OneShot<bool> first;  // true: the access has ended; false: its instance has ended
  OneShot<bool> ended;
};

// [core] Knows the stuck devices of all modules: it outlives every instance, and ends with the daemon. A device is
// stuck from the end of the access's limit until the process of the access has exited.
class StuckDevices {
 public:
  // Adds an access whose killed process does not exit.
  void add(std::shared_ptr<RunningAccess> access);
  // Removes an access whose process has exited.
  void remove(const std::shared_ptr<RunningAccess>& access);
  // Sets the callback for a module whose device got stuck or free again; an empty function removes it.
  void listen(std::function<void(const std::string& module)> changed) { changed_ = std::move(changed); }
  // Returns the cause "Stuck" of the device's health; nothing if it is not stuck.
  std::optional<CauseHealth> health(const DeviceKey& device) const;
  // Returns the access that the device is stuck in, its time, and the remedy, for people; nothing if it is not stuck.
  std::optional<std::string> find(const DeviceKey& device) const;
  // Returns these texts for all devices of the module; of all modules if the name is empty.
  std::vector<std::string> all(const std::string& module) const;
  std::size_t count(const std::string& module) const;

 private:
  const RunningAccess* oldest(const DeviceKey& device) const;
  static std::string text_of(const RunningAccess& access);

  std::multimap<DeviceKey, std::shared_ptr<RunningAccess>> stuck_;
  std::function<void(const std::string& module)> changed_;
};

}  // namespace cardcage
