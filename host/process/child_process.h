// A process that this daemon or an earlier one started, and its forks: how it ended, or why it cannot end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/core/unique_fd.h"
#include "host/process/control_group.h"

namespace cardcage {

// Time for a killed process to exit before it counts as held by the kernel.
constexpr std::chrono::seconds kEndLimit{2};

// [core] The destructor does not kill the process.
class ChildProcess {
 public:
  // `descriptor` is its pidfd. `group` is its control group; null if it has none.
  ChildProcess(pid_t pid, UniqueFd descriptor, std::shared_ptr<ControlGroup> group)
      : pid_(pid), descriptor_(std::move(descriptor)), group_(std::move(group)) {}

  pid_t pid() const { return pid_; }
  int descriptor() const { return descriptor_.get(); }
  // Sends SIGKILL to the process, its process group and its control group, once.
  void kill();
  // Sends SIGTERM to the process alone.
  void terminate() const;
  // Reaps the process if it has ended.
  bool has_exited();
  // Returns "was killed by signal 11 (Segmentation fault)" or "exited with status 7"; "does not end" until it has
  // exited.
  const std::string& end() const { return end_; }
  // Once the process has exited: its status, or -1 if a signal ended it; and that signal, or 0.
  int exit_status() const { return exit_status_; }
  int signal() const { return signal_; }
  bool is_killed() const { return killed_; }
  // Explains why a killed process or fork still exists, in the words of text_of_survivor(); nothing if all are gone.
  // `what` names the process.
  std::optional<std::string> survivor(std::string_view what, const std::string& module);

 private:
  bool has_exited_elsewhere();

  const pid_t pid_;
  const UniqueFd descriptor_;
  const std::shared_ptr<ControlGroup> group_;
  bool killed_ = false, exited_ = false;
  int exit_status_ = -1, signal_ = 0;
  std::string end_ = "does not end";
};

// Returns true while a debugger, strace or another tracer is attached to the process. `proc` is /proc except in tests.
bool is_traced(pid_t pid, const std::filesystem::path& proc = "/proc");

// Explains why a killed process still exists: "is in state D (it waits inside the kernel), in nvidia_ioctl". The state
// is that of the thread that holds the process: a main thread that has ended waits for the others. `proc` is /proc
// except in tests.
std::string hold_of(pid_t pid, const std::filesystem::path& proc = "/proc");

// Explains why no other instance of the module may start. `what` is "the worker" or "a process".
std::string text_of_survivor(std::string_view what, pid_t pid, const std::string& module);

}  // namespace cardcage
