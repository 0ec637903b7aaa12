// A child process: how it ended, or what holds it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "host/core/unique_fd.h"

namespace cardcage {

// [core] The destructor does not kill the process.
class ChildProcess {
 public:
  // `descriptor` is its pidfd; `proc` is /proc except in tests.
  ChildProcess(pid_t pid, UniqueFd descriptor, std::filesystem::path proc = "/proc")
      : pid_(pid), descriptor_(std::move(descriptor)), proc_(std::move(proc)) {}

  pid_t pid() const { return pid_; }
  int descriptor() const { return descriptor_.get(); }
  // SIGKILL to it and to its group, once.
  void kill();
  // Reaps the process if it has ended.
  bool is_gone();
  // "was killed by signal 11 (Segmentation fault)", "exited with status 7"; "does not end" until it is gone.
  const std::string& end() const { return end_; }
  // Why a killed process is still there: "is in state D (it waits inside the kernel), in nvidia_ioctl". The state is
  // that of the thread that holds the process: a main thread that has ended waits for the others.
  std::string hold() const;

 private:
  const pid_t pid_;
  const UniqueFd descriptor_;
  const std::filesystem::path proc_;
  bool killed_ = false, gone_ = false;
  std::string end_ = "does not end";
};

}  // namespace cardcage
