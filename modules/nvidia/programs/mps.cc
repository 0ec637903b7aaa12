// cardcage-nvidia-mps FOLDER DRIVER_ROOT single-user|multi-user [COMMAND]...
//
// Runs the MPS control daemon of the NVIDIA driver until it gets SIGTERM, and gives it the commands at its start. Then
// the file FOLDER/ready has the program's arguments, and is locked (flock(2)) while the daemon serves: a file that an
// earlier daemon left is not locked. The program runs in a mount namespace of its own, where FOLDER/shm is /dev/shm:
// only the daemon, its servers and the containers of the claim share that memory. A driver root other than "/" becomes
// the root, because the daemon needs the libraries there.
//
// Source: nvidia-cuda-mps-control(1).
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr int kBadUsage = 2;
constexpr const char* kInside = "/mnt";  // the folder's place inside: paths of sockets must be short
constexpr const char* kReady = "/mnt/ready";
constexpr unsigned kPause = 20'000;  // microseconds

[[noreturn]] void fail(const std::string& doing) {
  std::fprintf(stderr, "%s: %s\n", doing.c_str(), std::strerror(errno));
  ::_exit(EXIT_FAILURE);
}

void bind_mount(const fs::path& from, const fs::path& to) {
  if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    fail("mounting '" + from.native() + "' at '" + to.native() + "'");
}

void enter(const fs::path& folder, const fs::path& driver_root) {
  if (::unshare(CLONE_NEWNS) != 0) fail("making a mount namespace");
  // Not private: a volume of a pod that the kubelet unmounts later must not stay mounted here.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) fail("making mounts private");
  const fs::path inside = driver_root / fs::path(kInside).relative_path();
  bind_mount(folder / "shm", driver_root / "dev/shm");
  bind_mount(folder, inside);
  // Containers write into the folder of the pipes, and their links must not lead the daemon out of it. A kernel before
  // 5.10 does not know the flag.
  ::mount(nullptr, inside.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_NOSYMFOLLOW, nullptr);
  for (const auto& left : fs::directory_iterator(inside / "pipe")) fs::remove_all(left.path());
  if (driver_root != "/" && (::chroot(driver_root.c_str()) != 0 || ::chdir("/") != 0))
    fail("entering '" + driver_root.native() + "'");
}

std::string find_control() {
  for (const char* folder : {"/opt/bin", "/usr/bin", "/usr/sbin", "/bin", "/sbin"}) {
    const std::string path = std::string(folder) + "/nvidia-cuda-mps-control";
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  errno = ENOENT;
  fail("looking for nvidia-cuda-mps-control, a program of the NVIDIA driver");
}

// The child ends with this process.
pid_t start(const std::string& program, const std::vector<const char*>& options, int input) {
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) fail("fork");
  if (child > 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(EXIT_FAILURE);
  ::dup2(input, STDIN_FILENO);
  std::vector<char*> arguments{const_cast<char*>(program.c_str())};
  for (const char* option : options) arguments.push_back(const_cast<char*>(option));
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  ::_exit(EXIT_FAILURE);
}

// The exit status, or -1.
int end_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// True if the daemon accepted the command.
bool tell(const std::string& control, const std::string& command) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) fail("pipe");
  const pid_t child = start(control, {}, pipe[0]);
  ::close(pipe[0]);
  const std::string line = command + "\n";
  const bool written = ::write(pipe[1], line.data(), line.size()) == static_cast<ssize_t>(line.size());
  ::close(pipe[1]);
  return end_of(child) == EXIT_SUCCESS && written;
}

// Holds the lock until this process ends; programs that it executes do not inherit it.
void say_ready(int count, char** words) {
  const std::string coming = std::string(kReady) + ".new";
  const int file = ::open(coming.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  std::string text;
  for (int i = 1; i < count; ++i) text += std::string(words[i]) + "\n";
  const char* const devices = std::getenv("CUDA_VISIBLE_DEVICES");
  text += devices != nullptr ? devices : "";
  if (file < 0 || ::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::flock(file, LOCK_EX) != 0 || ::rename(coming.c_str(), kReady) != 0)
    fail("writing the file 'ready'");
}

pid_t daemon_pid = 0;

void pass_on(int number) {
  if (daemon_pid > 0) ::kill(daemon_pid, number);
}

int run(int count, char** words) {
  constexpr int kFirstCommand = 4;
  if (count < kFirstCommand) {
    std::fputs("usage: cardcage-nvidia-mps FOLDER DRIVER_ROOT single-user|multi-user [COMMAND]...\n", stderr);
    return kBadUsage;
  }
  enter(words[1], words[2]);
  fs::remove(kReady);
  ::setenv("CUDA_MPS_PIPE_DIRECTORY", (fs::path(kInside) / "pipe").c_str(), 1);
  ::setenv("CUDA_MPS_LOG_DIRECTORY", (fs::path(kInside) / "log").c_str(), 1);
  const std::string control = find_control();

  std::signal(SIGPIPE, SIG_IGN);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  std::vector<const char*> options{"-f"};
  if (std::string(words[3]) == "multi-user") options.push_back("-M");
  daemon_pid = start(control, options, nothing);
  struct sigaction ending{};
  ending.sa_handler = pass_on;
  ::sigaction(SIGTERM, &ending, nullptr);

  while (!tell(control, "get_default_active_thread_percentage")) {  // harmless
    if (::waitpid(daemon_pid, nullptr, WNOHANG) != 0) {
      std::fputs("the MPS control daemon has exited; its log says why\n", stderr);
      return EXIT_FAILURE;
    }
    ::usleep(kPause);
  }
  for (int i = kFirstCommand; i < count; ++i) {
    if (tell(control, words[i])) continue;
    std::fprintf(stderr, "the MPS control daemon refuses '%s'\n", words[i]);
    return EXIT_FAILURE;
  }
  say_ready(count, words);
  const int status = end_of(daemon_pid);
  return status < 0 ? EXIT_FAILURE : status;
}

}  // namespace

// Exits without running libraries' exit handlers, which may need files that are not below the driver root.
int main(int count, char** words) { ::_exit(run(count, words)); }
