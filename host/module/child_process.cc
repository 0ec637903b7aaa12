#include "host/module/child_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstring>

#include "host/core/file.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFile = 4096, kMaxPlace = 64;

// The letter after the name; the name may contain any character.
char state_of(const fs::path& task) {
  const std::string stat = read_file(task / "stat", kMaxFile).value_or("");
  const std::size_t name_end = stat.rfind(')');
  return name_end + 2 < stat.size() ? stat[name_end + 2] : '?';
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
  if (gone_ || std::exchange(killed_, true)) return;
  if (::kill(-pid_, SIGKILL) != 0) ::kill(pid_, SIGKILL);  // its group does not exist yet
}

bool ChildProcess::is_gone() {
  siginfo_t end{};
  if (gone_ || ::waitid(P_PIDFD, static_cast<id_t>(descriptor_.get()), &end, WEXITED | WNOHANG) != 0 || end.si_pid == 0)
    return gone_;
  if (end.si_code == CLD_TRAPPED) return false;  // a tracer is told of more than the exit
  gone_ = true;
  end_ = end.si_code == CLD_EXITED
             ? fmt::format("exited with status {}", end.si_status)
             : fmt::format("was killed by signal {} ({})", end.si_status, ::strsignal(end.si_status));
  return true;
}

std::string ChildProcess::hold() const {
  const fs::path process = proc_ / std::to_string(pid_);
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

}  // namespace cardcage
