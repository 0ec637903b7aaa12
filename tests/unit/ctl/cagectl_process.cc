#include "tests/unit/ctl/cagectl_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "host/core/file.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/built_files.h"

namespace cardcage {
namespace {

constexpr std::chrono::seconds kTimeout{40};  // enough for a whole check of a module under a sanitizer
constexpr std::size_t kMaxOutput = 10'000'000;

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> array;
  for (std::string& text : strings) array.push_back(text.data());
  array.push_back(nullptr);
  return array;
}

int wait_for(pid_t pid) {
  const auto end = std::chrono::steady_clock::now() + kTimeout;
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

Ended run_program(const std::string& program, const std::vector<std::string>& arguments, const std::string& input,
                  const std::vector<std::string>& environment) {
  const ScratchFolder folder;
  const std::string in = folder / "in", out = folder / "out", err = folder / "err";
  if (!write_file_atomically(in, input, 0600, false)) throw std::runtime_error("cannot write " + in);
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment;
  for (char** entry = environ; *entry; ++entry)
    if (!std::string_view(*entry).starts_with("CARDCAGE_")) variables.emplace_back(*entry);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t pid = -1;
  const int failed =
      ::posix_spawnp(&pid, program.c_str(), &actions, nullptr, pointers(words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start " + program);
  Ended ended;
  ended.code = wait_for(pid);
  ended.out = read_file(out, kMaxOutput).value_or("");
  ended.err = read_file(err, kMaxOutput).value_or("");
  return ended;
}

Ended run_cagectl(const std::vector<std::string>& arguments, const std::string& input,
                  const std::vector<std::string>& environment) {
  return run_program(built_program("cagectl"), arguments, input, environment);
}

}  // namespace cardcage
