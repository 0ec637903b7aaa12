// A process that does nothing, in a control group, for tests that end it.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/core/file.h"
#include "host/process/control_group.h"

namespace cardcage {

// Folders of this process's control groups in which the test may create groups.
inline std::vector<std::filesystem::path> writable_control_groups() {
  constexpr std::size_t kMaxProc = std::size_t{1} << 20;
  auto folders = own_control_groups(read_file("/proc/self/cgroup", kMaxProc).value_or(""),
                                    read_file("/proc/self/mountinfo", kMaxProc).value_or(""));
  std::erase_if(folders, [](const auto& folder) { return ::access(folder.c_str(), W_OK) != 0; });
  return folders;
}

class IdleProcess {
 public:
  explicit IdleProcess(const ControlGroup& group) {
    int order[2], told[2];
    if (::pipe(order) != 0 || ::pipe(told) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      serve(order[0], told[1]);
    }
    ::close(order[0]);
    ::close(told[1]);
    order_ = order[1];
    told_ = told[0];
    if (!group.add(pid_)) std::abort();
  }
  IdleProcess(const IdleProcess&) = delete;
  IdleProcess& operator=(const IdleProcess&) = delete;
  ~IdleProcess() {
    ::close(order_);
    ::close(told_);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  // A child in a session of its own, which survives its parent.
  pid_t fork_child() const {
    pid_t child = -1;
    if (::write(order_, "", 1) != 1 || ::read(told_, &child, sizeof child) != sizeof child) std::abort();
    return child;
  }

 private:
  [[noreturn]] static void serve(int order, int told) {
    char byte;
    while (::read(order, &byte, 1) == 1) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::setsid();
        const pid_t own = ::getpid();
        if (::write(told, &own, sizeof own) != sizeof own) ::_exit(1);
        for (;;) ::pause();
      }
    }
    ::_exit(0);
  }

  pid_t pid_ = -1;
  int order_ = -1, told_ = -1;
};

}  // namespace cardcage
