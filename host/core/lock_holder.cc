#include "host/core/lock_holder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>
#include <sstream>
#include <string>

namespace cardcage {

// "1: FLOCK  ADVISORY  WRITE 42 00:1a:5678 0 EOF"; a process that waits for a lock has "->" before the kind.
std::optional<pid_t> lock_holder(const std::filesystem::path& path, const std::filesystem::path& locks) {
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0) return {};
  const std::string wanted = fmt::format("{:02x}:{:02x}:{}", major(about.st_dev), minor(about.st_dev), about.st_ino);
  std::ifstream lines(locks);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, mode, file;
    pid_t pid = 0;
    if (words >> number >> kind && kind != "->" && words >> advisory >> mode >> pid >> file && file == wanted &&
        pid > 0)
      return pid;
  }
  return {};
}

}  // namespace cardcage
