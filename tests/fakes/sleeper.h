// A process that sleeps with a file open, for tests that end the users of a device.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <filesystem>
#include <stdexcept>

namespace cardcage {

class Sleeper {
 public:
  explicit Sleeper(const std::filesystem::path& file) {
    constexpr int kDescriptor = 7;
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, kDescriptor, file.c_str(), O_RDONLY, 0);
    const char* command[] = {"sleep", "1000", nullptr};
    const int error = ::posix_spawn(&pid_, "/bin/sleep", &actions, nullptr, const_cast<char**>(command), nullptr);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::runtime_error("cannot start sleep");
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() {
    if (ended_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  // The pid, in the type that drivers report.
  unsigned number() const { return static_cast<unsigned>(pid_); }
  bool is_alive() const {
    siginfo_t end{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == 0;
  }
  // Waits for the end of the process and returns the signal that ended it, or 0.
  int signal_at_end() {
    int status = 0;
    ended_ = ::waitpid(pid_, &status, 0) == pid_;
    return ended_ && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
};

}  // namespace cardcage
