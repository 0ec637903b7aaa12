#include "host/process/child_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "host/core/file.h"
#include "host/core/process_end.h"
#include "host/core/process_stat.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFile = 4096, kMaxPlace = 64;

char state_of(const fs::path& task) {
  const std::string state = stat_field(task, 3);
  return state.empty() ? '?' : state.front();
}

std::string words_for(char state) {
  switch (state) {
    case 'D': return "state D (it waits inside the kernel)";
    case 't': return "state t (a debugger holds it)";
    default: return fmt::format("state {}", state);
  }
}

}  // namespace

void ChildProcess::kill() {
  if (std::exchange(killed_, true)) return;
  if (!exited_ && ::kill(-pid_, SIGKILL) != 0) ::kill(pid_, SIGKILL);  // its process group does not exist yet
  if (group_) group_->kill();
}

bool ChildProcess::has_exited() {
  siginfo_t end{};
  if (exited_) return true;
  if (::waitid(P_PIDFD, static_cast<id_t>(descriptor_.get()), &end, WEXITED | WNOHANG) != 0)
    return errno == ECHILD && has_exited_elsewhere();
  if (end.si_pid == 0) return false;
  if (end.si_code == CLD_TRAPPED) return false;  // a tracer gets other events than the exit
  exited_ = true;
  (end.si_code == CLD_EXITED ? exit_status_ : signal_) = end.si_status;
  end_ = text_of_end(end);
  return true;
}

// Only the parent of a process that an earlier daemon started learns its exit status.
bool ChildProcess::has_exited_elsewhere() {
  pollfd end{.fd = descriptor_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&end, 1, 0) <= 0) return false;
  end_ = "exited";
  return exited_ = true;
}

void ChildProcess::terminate() const {
  if (!exited_) ::syscall(SYS_pidfd_send_signal, descriptor_.get(), SIGTERM, nullptr, 0);
}

std::optional<std::string> ChildProcess::survivor(std::string_view what, const std::string& module) {
  if (!has_exited()) return text_of_survivor(what, pid_, module);
  if (!group_) return std::nullopt;
  const std::vector<pid_t> left = group_->members();
  if (left.empty()) return std::nullopt;
  group_->kill();  // again, for processes forked meanwhile
  return text_of_survivor("a process", left.front(), module);
}

bool is_traced(pid_t pid, const fs::path& proc) {
  constexpr std::string_view kTracer = "\nTracerPid:\t";
  const std::string status = read_file(proc / std::to_string(pid) / "status", kMaxFile).value_or("");
  const std::size_t tracer = status.find(kTracer);
  if (tracer == std::string::npos) return false;
  if (!std::string_view(status).substr(tracer + kTracer.size()).starts_with("0\n")) return true;
  // The PID of a tracer outside the daemon's PID namespace reads as 0.
  std::error_code gone;
  for (const auto& task : fs::directory_iterator(proc / std::to_string(pid) / "task", gone))
    if (state_of(task.path()) == 't') return true;
  return false;
}

std::string hold_of(pid_t pid, const fs::path& proc) {
  const fs::path process = proc / std::to_string(pid);
  fs::path holder = process;
  char state = state_of(process);
  std::error_code gone;
  for (const auto& task : fs::directory_iterator(process / "task", gone)) {
    const char its = state_of(task.path());
    if (its == 'Z' || its == 'X' || its == '?') continue;
    state = its;
    holder = task.path();
    if (its == 'D') break;
  }
  std::string text = "is in " + words_for(state);
  const std::string place = printable(read_file(holder / "wchan", kMaxFile).value_or(""), kMaxPlace);
  if (!place.empty() && place != "0") text += ", in " + place;
  return text;
}

std::string text_of_survivor(std::string_view what, pid_t pid, const std::string& module) {
  return fmt::format(
      "{} (pid {}) of module '{}' was killed and does not end: it {}; "
      "it may hold the hardware, so no other is started; if it stays so, restart the node",
      what, pid, module, hold_of(pid));
}

}  // namespace cardcage
