#include "tests/fakes/proc.h"

#include <fmt/format.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace cardcage::proc {
namespace {

namespace fs = std::filesystem;

fs::path file_of(pid_t pid, const char* name) { return fmt::format("/proc/{}/{}", pid, name); }

// The number in a line such as "VmRSS:   1024 kB".
std::size_t kib_of(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return std::stoul(line.substr(key.size()));
  throw std::runtime_error(fmt::format("no {} in {}", key, path.native()));
}

}  // namespace

std::vector<pid_t> children(pid_t pid) {
  std::vector<pid_t> found;
  for (const auto& thread : fs::directory_iterator(file_of(pid, "task"))) {
    std::ifstream list(thread.path() / "children");
    for (pid_t child = 0; list >> child;) found.push_back(child);
  }
  return found;
}

std::vector<pid_t> workers(pid_t pid) {
  std::vector<pid_t> found = children(pid);
  std::erase_if(found, [](pid_t child) {
    std::string name;
    std::getline(std::ifstream(file_of(child, "comm")), name);
    return name != "cardcage-worker";
  });
  return found;
}

bool is_alive(pid_t pid) {
  std::string text;
  std::getline(std::ifstream(file_of(pid, "stat")), text);
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos) return false;
  const char state = text[name_end + 2];
  return state != 'Z' && state != 'X';
}

std::map<int, fs::path> open_files(pid_t pid) {
  std::map<int, fs::path> open;
  const fs::path folder = file_of(pid, "fd");
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::error_code closed;
    const fs::path target = fs::read_symlink(entry.path(), closed);
    if (!closed && target != folder) open[std::stoi(entry.path().filename())] = target;
  }
  return open;
}

std::size_t pss_kib(pid_t pid) { return kib_of(file_of(pid, "smaps_rollup"), "Pss:"); }
std::size_t rss_kib(pid_t pid) { return kib_of(file_of(pid, "status"), "VmRSS:"); }
std::size_t peak_kib(pid_t pid) { return kib_of(file_of(pid, "status"), "VmHWM:"); }

// Sums schedstat: /proc/PID/stat counts in ticks of 10 ms.
std::chrono::nanoseconds cpu_time(pid_t pid) {
  std::chrono::nanoseconds sum{0};
  for (const auto& thread : fs::directory_iterator(file_of(pid, "task"))) {
    std::int64_t nanoseconds = 0;
    std::ifstream(thread.path() / "schedstat") >> nanoseconds;
    sum += std::chrono::nanoseconds(nanoseconds);
  }
  return sum;
}

}  // namespace cardcage::proc
