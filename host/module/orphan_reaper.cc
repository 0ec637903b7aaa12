#include "host/module/orphan_reaper.h"

#include <sys/wait.h>

#include <charconv>
#include <filesystem>
#include <string>

#include "host/core/pid.h"

namespace cardcage {
namespace {

bool is_exited_child(pid_t pid) {
  siginfo_t about{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &about, WEXITED | WNOHANG | WNOWAIT) == 0 && about.si_pid == pid;
}

std::set<pid_t> exited_children() {
  std::set<pid_t> found;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc{} && end == name.data() + name.size() && valid_pid(pid) && is_exited_child(pid))
      found.insert(pid);
  }
  return found;
}

}  // namespace

void OrphanReaper::look() {
  std::set<pid_t> exited = exited_children();
  std::erase_if(exited, [this](pid_t pid) { return exited_.contains(pid) && ::waitpid(pid, nullptr, WNOHANG) == pid; });
  exited_ = std::move(exited);
}

}  // namespace cardcage
