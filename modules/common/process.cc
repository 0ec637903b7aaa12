#include "modules/common/process.h"

#include <tuple>

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <limits>
#include <string_view>

#include "modules/common/kernel_files.h"

namespace cardcage::hardware {
namespace {

namespace fs = std::filesystem;

// Compares the numbers: container runtimes make nodes of their own, with the numbers of the node's.
bool is_same_device(const fs::path& found, const fs::path& node) {
  struct stat one{}, other{};
  if (::stat(found.c_str(), &one) != 0 || ::stat(node.c_str(), &other) != 0) return false;
  if (S_ISCHR(one.st_mode) && S_ISCHR(other.st_mode)) return one.st_rdev == other.st_rdev;
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// Reads proc(5): the state and the parent follow the name, which may contain any character. Returns 0 if the process
// has ended.
pid_t parent_of(pid_t pid) {
  const std::string stat = text_in(fs::path("/proc") / std::to_string(pid) / "stat");
  constexpr std::size_t kToParent = 4;  // ") S "
  const std::size_t name_end = stat.rfind(')');
  pid_t parent = 0;
  if (name_end != std::string::npos && name_end + kToParent < stat.size())
    std::from_chars(stat.data() + name_end + kToParent, stat.data() + stat.size(), parent);
  return parent;
}

bool descends_from(pid_t pid) {
  for (pid_t one = ::getpid(); one > 0; one = parent_of(one))
    if (one == pid) return true;
  return false;
}

std::string reason_to_spare(pid_t pid, const fs::path& node) {
  if (descends_from(pid)) return "it is this process or a parent of it";
  std::error_code error;
  if (has_open(fs::path("/proc") / std::to_string(pid), node, error)) return {};
  if (!error) return "it does not have '" + node.native() + "' open";
  const bool forbidden = error == std::errc::permission_denied || error == std::errc::operation_not_permitted;
  return "whether it has '" + node.native() + "' open cannot be seen: " + error.message() +
         (forbidden ? "; the worker needs CAP_SYS_PTRACE" : "");
}

bool has_ended(int process) {
  pollfd one{.fd = process, .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, 0) == 1;
}

}  // namespace

bool has_open(const fs::path& process, const fs::path& node, std::error_code& error) {
  for (fs::directory_iterator entry(process / "fd", error), end; !error && entry != end; entry.increment(error)) {
    std::error_code closed;
    const fs::path target = fs::read_symlink(entry->path(), closed);
    // Only a file of that name is examined: stat(2) would wait for a file system that hangs.
    if (target == node || (target.filename() == node.filename() && is_same_device(entry->path(), node))) return true;
  }
  return false;
}

// The kernel's own threads are only in the first namespace, and root owns the first process.
std::string why_users_are_hidden(const fs::path& procfs) {
  if (text_in(procfs / "2/comm") != "kthreadd")
    return "the daemon does not see the processes of the node; run it in the node's PID namespace (hostPID: true)";
  std::error_code error;
  std::ignore = fs::directory_iterator(procfs / "1/fd", error);
  return error ? "the module may not see which files processes have open; give it CAP_SYS_PTRACE, or leave out user "
                 "of its [module.process]"
               : std::string();
}

std::vector<std::string> pids_with_open(const fs::path& procfs, const fs::path& node, std::size_t most) {
  std::vector<std::string> pids;
  for (const std::string& pid : names_in(procfs)) {
    if (!std::ranges::all_of(pid, [](unsigned char c) { return std::isdigit(c) != 0; })) continue;
    std::error_code hidden;
    if (pids.size() < most && has_open(procfs / pid, node, hidden)) pids.push_back(pid);
  }
  return pids;
}

std::string kill_user_of(const fs::path& node, std::uint64_t pid) {
  if (pid == 0) return "it is in another PID namespace; run the daemon in the node's (hostPID: true)";
  // kill(2) gives negative numbers a meaning of their own, and 1 is init.
  if (pid == 1 || pid > std::uint64_t{std::numeric_limits<pid_t>::max()}) return "no process on a GPU has that number";
  const auto number = static_cast<pid_t>(pid);
  // First: the open descriptor keeps naming this process even when the pid is used again.
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, number, 0));
  if (process < 0) return errno == ESRCH ? std::string() : std::system_category().message(errno);
  std::string reason = reason_to_spare(number, node);
  if (reason.empty() && ::syscall(SYS_pidfd_send_signal, process, SIGKILL, nullptr, 0) != 0 && errno != ESRCH)
    reason = std::system_category().message(errno);
  if (!reason.empty() && has_ended(process)) reason.clear();
  ::close(process);
  return reason;
}

}  // namespace cardcage::hardware
