#include "host/process/spawn_plan.h"

#include <algorithm>
#include <cerrno>

namespace cardcage {

static std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

SpawnPlan::SpawnPlan(int last) : last_(last) {
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

// Gives a copy above `last_`: otherwise one dup2 could overwrite the source of the next.
void SpawnPlan::give(int fd, int as) {
  const UniqueFd& copy = copies_.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, last_ + 1));
  if (!copy) failed_ = errno;
  ::posix_spawn_file_actions_adddup2(&files_, copy.get(), as);
}

Result<pid_t> SpawnPlan::run(const std::filesystem::path& file, std::vector<std::string> arguments,
                             std::vector<std::string> environment) {
  if (failed_ != 0) return fail_errno(failed_, "cannot duplicate a descriptor for a process");
  for (int fd = last_ + 1; fd < until_exec_; ++fd) ::posix_spawn_file_actions_addclose(&files_, fd);
  ::posix_spawn_file_actions_addclosefrom_np(&files_, std::max(last_, until_exec_) + 1);
  arguments.insert(arguments.begin(), file.filename());
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, path_.empty() ? file.c_str() : path_.c_str(), &files_, &attributes_,
                                  pointers_to(arguments).data(), pointers_to(environment).data());
  if (error != 0) return fail_errno(error, fmt::format("cannot start '{}'", file.native()));
  return pid;
}

}  // namespace cardcage
