// Runs a function in a process of its own, and interferes with one of the requests that it sends to the kernel's
// sockets, so that a test reaches every step of a change.
#pragma once

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

namespace cardcage {

struct Interference {
  static constexpr int kKill = 0;
  int step = -1;                           // index of the affected request, from 0; -1 = none
  int error = kKill;                       // an errno that the request fails with, or the process dies before it
  std::vector<std::uint16_t> spares = {};  // types of netlink messages that are spared
  std::function<void()> act = {};          // runs before the request, which is sent then
};

struct SteppedResult {
  int steps = 0;  // requests that were sent
  bool was_killed = false;
  bool succeeded = false;  // the function returned true
};

// x86-64 only. `work` must not throw.
inline SteppedResult run_stepped(const std::function<bool()>& work, Interference interference = {}) {
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    ::_exit(work() ? 0 : 1);
  }
  const auto wait = [child] {
    int status = 0;
    if (::waitpid(child, &status, 0) != child) throw std::runtime_error("the stepped process is gone");
    return status;
  };
  wait();
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  SteppedResult result;
  bool is_inside = false, fails = false;
  for (int signal = 0;;) {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, signal);
    signal = 0;
    const int status = wait();
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      result.was_killed = WIFSIGNALED(status);
      result.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      return result;
    }
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
      signal = WSTOPSIG(status);
      continue;
    }
    is_inside = !is_inside;
    user_regs_struct registers{};
    ::ptrace(PTRACE_GETREGS, child, nullptr, &registers);
    if (is_inside && registers.orig_rax == SYS_sendto) {
      if (result.steps++ != interference.step) continue;
      errno = 0;
      const long head = ::ptrace(PTRACE_PEEKDATA, child, registers.rsi, nullptr);  // length and type in nlmsghdr
      const auto type = static_cast<std::uint16_t>(static_cast<unsigned long>(head) >> 32);
      if (std::ranges::find(interference.spares, type) != interference.spares.end()) continue;
      if (interference.act) {
        interference.act();
        continue;
      }
      if (interference.error == Interference::kKill) {
        ::kill(child, SIGKILL);
        continue;
      }
      fails = true;
      registers.orig_rax = static_cast<unsigned long long>(-1);  // an invalid call number
      ::ptrace(PTRACE_SETREGS, child, nullptr, &registers);
    } else if (fails) {
      fails = false;
      registers.rax = static_cast<unsigned long long>(-interference.error);
      ::ptrace(PTRACE_SETREGS, child, nullptr, &registers);
    }
  }
}

}  // namespace cardcage
