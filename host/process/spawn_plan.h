// The file actions and attributes of posix_spawn(3), freed with the object.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

#include <filesystem>
#include <string>
#include <vector>

namespace cardcage {

// The child leads a process group of its own, has every signal at its default, and gets only the descriptors given
// here.
class SpawnPlan {
 public:
  SpawnPlan();
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan();

  void give(int fd, int as) { ::posix_spawn_file_actions_adddup2(&files_, fd, as); }
  void give_nothing(int as) { ::posix_spawn_file_actions_addopen(&files_, as, "/dev/null", O_RDONLY, 0); }
  // `until_exec`, if given, is a close-on-exec descriptor that stays open until the program runs.
  void give_none_above(int last, int until_exec = -1);
  // Executes this path, under the file name that run() gets.
  void execute(std::string path) { path_ = std::move(path); }
  // `arguments` follow the name of the file. Returns an errno, or 0.
  int run(const std::filesystem::path& file, std::vector<std::string> arguments, std::vector<std::string> environment,
          pid_t& pid) const;

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
  std::string path_;  // empty = the file's path
};

}  // namespace cardcage
