// A control group for each worker, below the daemon's.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/model/module.h"
#include "host/process/control_group.h"

namespace cardcage {

// [core] Without groups, a daemon that was killed would forget the forks of its workers, which may hold the hardware
// while the next instance takes it.
class WorkerGroups {
 public:
  // `run_dir` distinguishes the daemons of a node; the caller holds its lock. Kills the processes that earlier daemons
  // left in their groups, and logs it. If the daemon may not make groups, the reason is logged and make() returns null.
  explicit WorkerGroups(const std::filesystem::path& run_dir, const std::filesystem::path& proc = "/proc/self");

  // Makes the group for the module's next worker.
  std::shared_ptr<ControlGroup> make(const std::string& module);
  // Returns the processes that earlier daemons left of the module and that the kernel does not end yet.
  Leftover left_behind(const std::string& module) const;

 private:
  void kill_left_behind();

  std::filesystem::path home_;  // empty if no groups can be made
  std::string prefix_;          // name prefix of this daemon's groups
  std::uint64_t made_ = 0;
  std::map<std::string, std::vector<std::shared_ptr<ControlGroup>>> left_;  // by module
};

}  // namespace cardcage
