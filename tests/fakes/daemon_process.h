// The real daemon as a child process in a folder of its own: for tests that kill it and for the benchmarks.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "host/core/task.h"
#include "tests/fakes/scratch_folder.h"

namespace cardcage {

class DaemonProcess {
 public:
  // `binary` is the daemon, `module` the mock's .so; it is copied into the folder's modules.
  DaemonProcess(std::filesystem::path binary, const std::filesystem::path& module);
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;
  ~DaemonProcess();

  // The folder holds modules/, kubelet/, device-plugins/, state/, cdi/, node/claims/, admin.sock, cardcage.toml and
  // log.
  const std::filesystem::path& folder() const { return folder_.path(); }
  // [node] of a configuration that keeps everything inside the folder; `claims` as in node.claims.
  std::string node_section(const std::string& claims) const;
  // Written to cardcage.toml; takes effect with the next start.
  void configure(const std::string& toml) const;

  void start();
  // SIGTERM, then waits; the exit status as waitpid gives it. Kills it after `limit`.
  int stop(Duration limit = std::chrono::seconds(10));
  // kill -9
  void crash();

  pid_t pid() const { return pid_; }
  bool running() const;
  // The processes of its modules.
  std::vector<pid_t> workers() const;
  std::string log() const;

  // The daemon and then the workers of its modules.
  std::vector<pid_t> processes() const;
  // Proportional set size in kB (/proc/PID/smaps_rollup) and CPU time used so far, workers included.
  long pss_kb() const;
  std::chrono::nanoseconds cpu_time() const;

 private:
  ScratchFolder folder_;
  std::filesystem::path binary_;
  pid_t pid_ = -1;
};

}  // namespace cardcage
