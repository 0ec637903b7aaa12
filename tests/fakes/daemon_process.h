// The real daemon as a child process in its own folder: for tests that kill it and for the benchmarks.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "host/core/task.h"
#include "sim/scratch_folder.h"

namespace cardcage {

class DaemonProcess {
 public:
  // `binary` is the daemon, `module` the mock's .so, which is copied into modules/.
  DaemonProcess(std::filesystem::path binary, const std::filesystem::path& module);
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;
  ~DaemonProcess();

  // Holds modules/, kubelet/, device-plugins/, state/, cdi/, run/, node/claims/, admin.sock, cardcage.toml and log.
  const std::filesystem::path& folder() const { return folder_.path(); }
  std::filesystem::path installed_module() const { return folder_ / "modules" / module_; }
  // Sets node.sysfs_root.
  void set_sysfs(std::filesystem::path folder) { sysfs_ = std::move(folder); }
  // The [node] section of a configuration that keeps everything inside the folder; `claims` is node.claims.
  std::string node_section(const std::string& claims) const;
  // Writes cardcage.toml in place, as an editor may do.
  void configure(const std::string& toml) const;

  // With a parent, pid() is its pid and not the daemon's.
  enum class Parent : std::uint8_t { kNone, kRestarts };
  void start(Parent parent = Parent::kNone);
  // Sends SIGTERM and waits; returns the exit status as waitpid() does. Kills the daemon after `limit`.
  int stop(Duration limit = std::chrono::seconds(10));
  // kill -9
  void crash();
  // False if it still runs after `limit`. Does not reap it: stop() or crash() does.
  bool wait_for_exit(Duration limit) const;

  pid_t pid() const { return pid_; }
  bool running() const { return pid_ > 0 && !wait_for_exit({}); }
  std::string log() const;
  bool logged(const std::string& text) const { return log().find(text) != std::string::npos; }

  std::vector<pid_t> workers() const;
  // The daemon and its workers: their pids, memory and CPU time so far.
  std::vector<pid_t> processes() const;
  std::size_t pss_kib() const;
  std::chrono::nanoseconds cpu_time() const;

 private:
  int reap();

  ScratchFolder folder_;
  const std::filesystem::path binary_, module_;
  std::filesystem::path sysfs_ = "/sys";
  pid_t pid_ = -1;
};

}  // namespace cardcage
