// A control group (cgroup) of the kernel: it holds what a worker forks, whatever session or process group that joins,
// and it outlives the daemon.
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

// [core] One group of either version; no controller is needed.
class ControlGroup {
 public:
  // The folder exists. The destructor removes it if no process is left in it.
  explicit ControlGroup(std::filesystem::path folder) : folder_(std::move(folder)) {}
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;
  ~ControlGroup();

  Status add(pid_t pid) const;
  // SIGKILL to every process in it. With version 1 a process that forks at this moment may escape a single call.
  void kill() const;
  // Processes that have not exited; 0 stands for one that this pid namespace does not show.
  std::vector<pid_t> members() const;

 private:
  const std::filesystem::path folder_;
};

// The folders of this process's own groups in which it could make others, from the text of /proc/self/cgroup and
// /proc/self/mountinfo: version 2 first, then the one that systemd made for version 1.
std::vector<std::filesystem::path> own_control_groups(std::string_view cgroup, std::string_view mountinfo);

// The first of these folders that can be written. `proc` is /proc/self except in tests.
Result<std::filesystem::path> find_control_group(const std::filesystem::path& proc = "/proc/self");

}  // namespace cardcage
