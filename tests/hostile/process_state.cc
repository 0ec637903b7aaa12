#include "tests/hostile/process_state.h"

#include <fmt/ranges.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clocale>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace cardcage {
namespace {

namespace fs = std::filesystem;

// Far above what a module and its calls take, far below what leaks_memory.c does.
constexpr std::size_t kNotableMib = 64;

int number_of(const fs::path& entry) {
  const std::string name = entry.filename();
  return name.find_first_not_of("0123456789") == std::string::npos ? std::stoi(name) : -1;
}

struct Life {
  char state = '?';
  pid_t parent = -1;
};

Life life_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  Life life;
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return life;
  std::istringstream rest(text.substr(name_end + 1));
  rest >> life.state >> life.parent;
  return life;
}

std::map<int, std::string> open_descriptors() {
  std::map<int, std::string> open;
  std::error_code gone;  // the one that reads the folder
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    const std::string target = fs::read_symlink(entry.path(), gone);
    if (!gone && !target.starts_with("/memfd:") && !target.ends_with("/fd")) open[number_of(entry.path())] = target;
  }
  return open;
}

std::set<pid_t> children_of_this() {
  std::set<pid_t> children;
  for (const auto& entry : fs::directory_iterator("/proc"))
    if (const int pid = number_of(entry.path()); pid > 0 && life_of(pid).parent == ::getpid()) children.insert(pid);
  return children;
}

mode_t current_mask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

bool handles_signal() {
  struct sigaction action{};
  ::sigaction(SIGUSR2, nullptr, &action);
  return action.sa_handler != SIG_DFL;
}

std::size_t resident_mib() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) >> 20;
}

}  // namespace

bool is_alive(pid_t pid) {
  const char state = life_of(pid).state;
  return state != '?' && state != 'Z' && state != 'X';
}

ProcessState ProcessState::now() {
  return {.descriptors = open_descriptors(),
          .children = children_of_this(),
          .folder = fs::current_path(),
          .locale = std::setlocale(LC_ALL, nullptr),
          .mask = current_mask(),
          .signal_handled = handles_signal(),
          .memory_mib = resident_mib()};
}

std::string ProcessState::changes_since(const ProcessState& before) const {
  std::vector<std::string> changes;
  for (const auto& [fd, target] : descriptors)
    if (!before.descriptors.contains(fd)) changes.push_back(fmt::format("descriptor {} ({}) is open", fd, target));
  for (const auto& [fd, target] : before.descriptors)
    if (const auto still = descriptors.find(fd); still == descriptors.end() || still->second != target)
      changes.push_back(fmt::format("descriptor {} ({}) is another or closed", fd, target));
  if (children != before.children) changes.push_back(fmt::format("it has the children {}", children));
  if (folder != before.folder) changes.push_back("its folder is " + folder);
  if (locale != before.locale) changes.push_back("its locale is " + locale);
  if (mask != before.mask) changes.push_back(fmt::format("its umask is {:o}", mask));
  if (signal_handled != before.signal_handled) changes.emplace_back("SIGUSR2 has another handler");
  if (memory_mib > before.memory_mib + kNotableMib)
    changes.push_back(fmt::format("it has {} MiB of memory and had {}", memory_mib, before.memory_mib));
  return fmt::format("{}", fmt::join(changes, ", "));
}

void restore(const ProcessState& before) {
  for (const pid_t child : children_of_this()) {
    if (before.children.contains(child)) continue;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  for (const auto& [fd, target] : open_descriptors())
    if (!before.descriptors.contains(fd)) ::close(fd);
  fs::current_path(before.folder);
  std::setlocale(LC_ALL, before.locale.c_str());
  ::umask(before.mask);
  if (!before.signal_handled) ::signal(SIGUSR2, SIG_DFL);
}

}  // namespace cardcage
