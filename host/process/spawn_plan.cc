#include "host/process/spawn_plan.h"

#include <algorithm>

namespace cardcage {

static std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

SpawnPlan::SpawnPlan() {
  ::posix_spawn_file_actions_init(&files_);
  ::posix_spawnattr_init(&attributes_);
  sigset_t all, none;
  ::sigfillset(&all);
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&attributes_, &all);
  ::posix_spawnattr_setsigmask(&attributes_, &none);
  ::posix_spawnattr_setpgroup(&attributes_, 0);
  ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
}

SpawnPlan::~SpawnPlan() {
  ::posix_spawn_file_actions_destroy(&files_);
  ::posix_spawnattr_destroy(&attributes_);
}

void SpawnPlan::give_none_above(int last, int until_exec) {
  for (int fd = last + 1; fd < until_exec; ++fd) ::posix_spawn_file_actions_addclose(&files_, fd);
  ::posix_spawn_file_actions_addclosefrom_np(&files_, std::max(last, until_exec) + 1);
}

int SpawnPlan::run(const std::filesystem::path& file, std::vector<std::string> arguments,
                   std::vector<std::string> environment, pid_t& pid) const {
  arguments.insert(arguments.begin(), file.filename());
  return ::posix_spawn(&pid, path_.empty() ? file.c_str() : path_.c_str(), &files_, &attributes_,
                       pointers_to(arguments).data(), pointers_to(environment).data());
}

}  // namespace cardcage
