// The file actions and attributes of posix_spawn(3), freed with the object.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

#include <filesystem>
#include <string>
#include <vector>

#include "host/core/result.h"
#include "host/core/unique_fd.h"

namespace cardcage {

// The child leads a process group of its own, has every signal at its default, and gets only the descriptors given
// here.
class SpawnPlan {
 public:
  // The child gets no descriptor above `last`.
  explicit SpawnPlan(int last);
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan();

  void give(int fd, int as);
  void give_nothing(int as) { ::posix_spawn_file_actions_addopen(&files_, as, "/dev/null", O_RDONLY, 0); }
  // Executes this path, under the file name that run() gets. `until_exec` is a close-on-exec descriptor that stays open
  // until then.
  void execute(std::string path, int until_exec) {
    path_ = std::move(path);
    until_exec_ = until_exec;
  }
  // Starts the child. `arguments` follow the name of the file. Call it once.
  Result<pid_t> run(const std::filesystem::path& file, std::vector<std::string> arguments,
                    std::vector<std::string> environment);

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
  const int last_;
  std::vector<UniqueFd> copies_;  // copies of the given descriptors
  int failed_ = 0;                // the errno of a copy
  std::string path_;              // empty = the file's path
  int until_exec_ = -1;
};

}  // namespace cardcage
