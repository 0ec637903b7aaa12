// A control group for each worker, below the one of the daemon.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/model/module.h"
#include "host/module/control_group.h"

namespace cardcage {

// [core] Without it, a daemon that was killed would forget what its workers have forked: such processes may hold the
// hardware while the next instance takes it.
class WorkerGroups {
 public:
  // `run_dir` tells the daemon from others of the node; the caller holds its lock. Kills what earlier daemons have left
  // there, and logs it. Where the daemon may not make groups, the reason is logged and make() returns null.
  explicit WorkerGroups(const std::filesystem::path& run_dir, const std::filesystem::path& proc = "/proc/self");

  // For the next worker of the module.
  std::shared_ptr<ControlGroup> make(const std::string& module);
  // What earlier daemons have left of the module and the kernel does not end yet.
  Leftover left_behind(const std::string& module) const;

 private:
  void kill_left_behind();

  std::filesystem::path home_;  // empty if no groups can be made
  std::string prefix_;          // of the names of this daemon's groups
  std::uint64_t made_ = 0;
  std::map<std::string, std::vector<std::shared_ptr<ControlGroup>>> left_;  // by module
};

}  // namespace cardcage
