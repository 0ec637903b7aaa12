// A kernel control group (cgroup): it holds all forks of a worker, whatever session or process group they join, and
// outlives the daemon.
//
// Source: Documentation/admin-guide/cgroup-v2.rst (cgroup.procs, cgroup.kill) and cgroup-v1/cgroups.rst of the kernel.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "host/core/result.h"

namespace cardcage {

// [core] A group of either cgroup version; needs no controller.
class ControlGroup {
 public:
  // The folder exists. The destructor removes it if it holds no process.
  explicit ControlGroup(std::filesystem::path folder) : folder_(std::move(folder)) {}
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;
  ~ControlGroup();

  Status add(pid_t pid) const;
  // Sends SIGKILL to every process in the group. With version 1 a process that forks at that moment may escape one
  // call.
  void kill() const;
  // Returns the processes that have not exited; 0 stands for one outside this pid namespace.
  std::vector<pid_t> members() const;

 private:
  const std::filesystem::path folder_;
};

// Returns the folders of this process's own groups in which it could create groups, from the text of /proc/self/cgroup
// and /proc/self/mountinfo: version 2 first, then the one that systemd made for version 1.
std::vector<std::filesystem::path> own_control_groups(std::string_view cgroup, std::string_view mountinfo);

// Returns the first writable folder of these. `proc` is /proc/self except in tests.
Result<std::filesystem::path> find_control_group(const std::filesystem::path& proc = "/proc/self");

}  // namespace cardcage
