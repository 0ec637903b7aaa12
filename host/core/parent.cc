#include "host/core/parent.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include "host/core/memory.h"
#include "host/core/process_end.h"

namespace cardcage {
namespace {

using std::chrono::milliseconds, std::chrono::steady_clock;

// Pauses before each new start. The first one lets the kubelet notice that the sockets of the previous run are closed.
constexpr std::array<milliseconds, 4> kPauses{milliseconds(50), milliseconds(500), milliseconds(1000),
                                              milliseconds(5000)};
// A run of this length counts as good and resets the pauses.
constexpr milliseconds kGoodRun{5000};
constexpr std::array kPassedOn{SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2};
constexpr int kFailure = 1, kSignalled = 128;  // exit statuses, as a shell has them

bool asks_for_end(int signal) { return signal == SIGTERM || signal == SIGINT || signal == SIGQUIT; }

class Parent {
 public:
  explicit Parent(const std::function<int(const Restarts&)>& daemon);
  int run();

 private:
  void start();
  [[noreturn]] void run_child(pid_t parent);
  // Handles one signal, or returns at `until`.
  void wait(std::optional<steady_clock::time_point> until);
  void reap();
  std::optional<int> wanted_end() const;

  const std::function<int(const Restarts&)>& daemon_;
  sigset_t signals_{}, outer_mask_{};
  std::array<char, 16> outer_name_{};
  bool* const returned_;  // shared with the child; set if the daemon returned, not after an exit() of a module
  pid_t child_ = -1;      // -1: none runs
  siginfo_t end_{};       // end of the last child
  bool stopping_ = false;
  Restarts restarts_;
};

Parent::Parent(const std::function<int(const Restarts&)>& daemon)
    : daemon_(daemon),
      returned_(static_cast<bool*>(
          ::mmap(nullptr, sizeof(bool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
  if (returned_ == MAP_FAILED) throw std::bad_alloc();
  std::signal(SIGCHLD, SIG_DFL);  // a starter that ignores it would hide how children end
  ::sigemptyset(&signals_);
  ::sigaddset(&signals_, SIGCHLD);
  for (const int signal : kPassedOn) ::sigaddset(&signals_, signal);
  ::sigprocmask(SIG_BLOCK, &signals_, &outer_mask_);
  ::prctl(PR_GET_NAME, outer_name_.data());
  ::prctl(PR_SET_NAME, "cardcage-parent");
}

int Parent::run() {
  for (std::size_t failures = 0;; ++failures) {
    const auto begun = steady_clock::now();
    start();
    while (child_ > 0) wait(std::nullopt);
    if (const auto status = wanted_end()) return *status;
    restarts_ = {.count = restarts_.count + 1, .last_end = text_of_end(end_)};
    const auto now = steady_clock::now();
    if (now - begun >= kGoodRun) failures = 0;
    for (const auto next = now + kPauses.at(std::min(failures, kPauses.size() - 1)); steady_clock::now() < next;) {
      wait(next);
      if (stopping_) return EXIT_SUCCESS;
    }
  }
}

void Parent::start() {
  const pid_t parent = ::getpid();
  *returned_ = false;
  child_ = ::fork();
  if (child_ == 0) run_child(parent);
  if (child_ > 0) return release_startup_memory();
  std::perror("cardcage: cannot start the daemon's process");
  *returned_ = true;
  end_ = {};
  end_.si_code = CLD_EXITED;
  end_.si_status = kFailure;
}

void Parent::run_child(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kFailure);  // it died before
  ::prctl(PR_SET_NAME, outer_name_.data());
  ::sigprocmask(SIG_SETMASK, &outer_mask_, nullptr);
  const int status = daemon_(restarts_);
  *returned_ = true;
  std::exit(status);
}

void Parent::wait(std::optional<steady_clock::time_point> until) {
  siginfo_t about{};
  timespec limit{};
  if (until) {
    const auto left = std::max<steady_clock::duration>(*until - steady_clock::now(), {});
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    limit = {.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(left - seconds).count()};
  }
  const int signal = until ? ::sigtimedwait(&signals_, &about, &limit) : ::sigwaitinfo(&signals_, &about);
  if (signal == SIGCHLD) return reap();
  if (signal < 0) return;
  stopping_ = stopping_ || asks_for_end(signal);
  if (child_ > 0) ::kill(child_, signal);
}

// One SIGCHLD may stand for several children.
void Parent::reap() {
  for (;;) {
    siginfo_t end{};
    if (::waitid(P_ALL, 0, &end, WEXITED | WNOHANG) != 0 || end.si_pid == 0) return;
    if (end.si_pid != child_) continue;
    child_ = -1;
    end_ = end;
  }
}

// The exit status of the parent; nothing after a crash.
std::optional<int> Parent::wanted_end() const {
  const bool exited = end_.si_code == CLD_EXITED;
  const bool first_failed = *returned_ && restarts_.count == 0;
  if (!stopping_ && !first_failed && !(*returned_ && end_.si_status == EXIT_SUCCESS)) return std::nullopt;
  return exited ? end_.si_status : kSignalled + end_.si_status;
}

}  // namespace

int keep_running(const std::function<int(const Restarts&)>& daemon) { return Parent(daemon).run(); }

}  // namespace cardcage
