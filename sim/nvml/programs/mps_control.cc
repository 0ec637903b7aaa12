// A small nvidia-cuda-mps-control, linked statically: it also runs where a driver root is the root.
//
//   nvidia-cuda-mps-control -f [-M]   the daemon: a pipe for commands, and a log of its arguments
//   nvidia-cuda-mps-control           gives it the commands of the standard input
//
// Source: nvidia-cuda-mps-control(1).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A file with a copy of each command that the daemon executed.
constexpr const char* kExecuted = "executed";

int serve(int count, char** words) {
  const fs::path pipes = variable("CUDA_MPS_PIPE_DIRECTORY"), logs = variable("CUDA_MPS_LOG_DIRECTORY");
  std::ofstream log(logs / "control.log", std::ios::app);
  log << "started";
  for (int i = 1; i < count; ++i) log << ' ' << words[i];
  log << " CUDA_VISIBLE_DEVICES=" << variable("CUDA_VISIBLE_DEVICES") << std::endl;
  if (fs::exists(logs / "refuse")) {  // the test makes it fail
    log << "no GPU can be used" << std::endl;
    return EXIT_FAILURE;
  }
  fs::remove(pipes / "control");
  std::ofstream executed(pipes / kExecuted);
  if (::mkfifo((pipes / "control").c_str(), 0666) != 0) return EXIT_FAILURE;
  std::ofstream("/dev/shm/cuda.shm") << "shared with clients\n";
  std::ofstream(pipes / "nvidia-cuda-mps-control.pid") << ::getpid() << std::flush;
  std::fstream commands(pipes / "control");  // both ends, so that it never reads an end of file
  for (std::string line; std::getline(commands, line);) {
    log << line << std::endl;
    executed << line << std::endl;
  }
  return EXIT_SUCCESS;
}

int tell() {
  const fs::path pipes = variable("CUDA_MPS_PIPE_DIRECTORY"), pipe = pipes / "control", executed = pipes / kExecuted;
  const int writer = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK);
  if (writer < 0) {
    std::cout << "Cannot find MPS control daemon process\n";
    return EXIT_FAILURE;
  }
  std::uintmax_t end = fs::file_size(executed);
  for (std::string line; std::getline(std::cin, line);) {
    line += '\n';
    if (::write(writer, line.data(), line.size()) < 0) return EXIT_FAILURE;
    end += line.size();
  }
  // The real program prints the daemon's reply, so it ends after the daemon has executed all commands.
  for (int tries = 0; tries < 10'000 && fs::file_size(executed) < end; ++tries) ::usleep(1000);
  return fs::file_size(executed) < end ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace

int main(int count, char** words) { return count > 1 ? serve(count, words) : tell(); }
