// A process that this daemon or an earlier one started, and what it forked: how it ended, or what holds it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/core/unique_fd.h"
#include "host/module/control_group.h"

namespace cardcage {

// How long a killed process may take to exit before it counts as held by the kernel.
constexpr std::chrono::seconds kEndLimit{2};

// [core] The destructor does not kill the process.
class ChildProcess {
 public:
  // `descriptor` is its pidfd. `group` is its control group; null if it has none.
  ChildProcess(pid_t pid, UniqueFd descriptor, std::shared_ptr<ControlGroup> group)
      : pid_(pid), descriptor_(std::move(descriptor)), group_(std::move(group)) {}

  pid_t pid() const { return pid_; }
  int descriptor() const { return descriptor_.get(); }
  // SIGKILL to it, to its process group and to its control group, once.
  void kill();
  // SIGTERM to the process alone.
  void terminate() const;
  // Reaps the process if it has ended.
  bool has_exited();
  // "was killed by signal 11 (Segmentation fault)", "exited with status 7"; "does not end" until it has exited.
  const std::string& end() const { return end_; }
  // Once it has exited: -1 if a signal ended it; and that signal, or 0.
  int exit_status() const { return exit_status_; }
  int signal() const { return signal_; }
  bool is_killed() const { return killed_; }
  // Why something that was killed is still there, as text_of_survivor() says it; nothing if all of it is gone. `what`
  // the process is.
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

// True while a debugger, strace or another tracer is attached to the process. `proc` is /proc except in tests.
bool is_traced(pid_t pid, const std::filesystem::path& proc = "/proc");

// Why a killed process is still there: "is in state D (it waits inside the kernel), in nvidia_ioctl". The state is
// that of the thread that holds the process: a main thread that has ended waits for the others. `proc` is /proc except
// in tests.
std::string hold_of(pid_t pid, const std::filesystem::path& proc = "/proc");

// Why no other instance of the module may start. `what` is "the worker" or "a process".
std::string text_of_survivor(std::string_view what, pid_t pid, const std::string& module);

}  // namespace cardcage
