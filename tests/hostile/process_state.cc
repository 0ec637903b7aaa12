#include "tests/hostile/process_state.h"

#include <fmt/ranges.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clocale>
#include <filesystem>
#include <vector>

#include "tests/fakes/proc.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

// Far above the needs of a module and its calls, far below the memory that leaks_memory.c takes.
constexpr std::size_t kNotableGrowthMib = 64;

// The open descriptors, without the images of modules, which stay mapped.
std::map<int, std::string> open_descriptors() {
  std::map<int, std::string> open;
  for (const auto& [fd, target] : proc::open_files(::getpid()))
    if (!target.native().starts_with("/memfd:")) open[fd] = target.native();
  return open;
}

std::set<pid_t> current_children() {
  const std::vector<pid_t> children = proc::children(::getpid());
  return {children.begin(), children.end()};
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

}  // namespace

ProcessState ProcessState::now() {
  return {.descriptors = open_descriptors(),
          .children = current_children(),
          .folder = fs::current_path(),
          .locale = std::setlocale(LC_ALL, nullptr),
          .mask = current_mask(),
          .signal_handled = handles_signal(),
          .memory_mib = proc::rss_kib(::getpid()) / 1024};
}

std::string ProcessState::changes_since(const ProcessState& before) const {
  std::vector<std::string> changes;
  for (const auto& [fd, target] : descriptors)
    if (!before.descriptors.contains(fd)) changes.push_back(fmt::format("descriptor {} ({}) is open", fd, target));
  for (const auto& [fd, target] : before.descriptors)
    if (const auto still = descriptors.find(fd); still == descriptors.end() || still->second != target)
      changes.push_back(fmt::format("descriptor {} ({}) is closed or refers to another file", fd, target));
  if (children != before.children) changes.push_back(fmt::format("its children are {}", children));
  if (folder != before.folder) changes.push_back("its working folder is " + folder);
  if (locale != before.locale) changes.push_back("its locale is " + locale);
  if (mask != before.mask) changes.push_back(fmt::format("its umask is {:o}", mask));
  if (signal_handled != before.signal_handled) changes.emplace_back("SIGUSR2 has another handler");
  if (memory_mib > before.memory_mib + kNotableGrowthMib)
    changes.push_back(fmt::format("its memory grew from {} to {} MiB", before.memory_mib, memory_mib));
  return fmt::format("{}", fmt::join(changes, ", "));
}

void restore(const ProcessState& before) {
  for (const pid_t child : current_children()) {
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
