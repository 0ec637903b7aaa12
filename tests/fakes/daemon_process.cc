#include "tests/fakes/daemon_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "host/core/file.h"
#include "host/core/unique_fd.h"
#include "host/process/worker_groups.h"
#include "tests/fakes/proc.h"

namespace cardcage {

namespace fs = std::filesystem;

DaemonProcess::DaemonProcess(fs::path binary, const fs::path& module)
    : binary_(std::move(binary)), module_(module.filename()) {
  for (const char* name : {"modules", "kubelet/plugins", "kubelet/plugins_registry", "state", "cdi", "node/claims"}) {
    fs::create_directories(folder_ / name);
  }
  fs::copy_file(module, installed_module());
  fs::permissions(installed_module(), fs::perms(0644));
  fs::permissions(installed_module().parent_path(), fs::perms(0755));
}

DaemonProcess::~DaemonProcess() {
  if (pid_ > 0) crash();
  const WorkerGroups removes_those_left(folder_ / "run");
}

std::string DaemonProcess::node_section(const std::string& claims) const {
  return fmt::format(
      "[node]\nname = \"node1\"\nkubelet_root = \"{0}/kubelet\"\nstate_dir = \"{0}/state\"\ncdi_dir = \"{0}/cdi\"\n"
      "run_dir = \"{0}/run\"\nmodules_dir = \"{0}/modules\"\nadmin_socket = \"{0}/admin.sock\"\nclaims = \"{1}\"\n"
      "device_plugins_dir = \"{0}/device-plugins\"\nfeatures_dir = \"{0}/features.d\"\nsysfs_root = \"{2}\"\n"
      "[metrics]\nlisten = \"\"\n",
      folder().native(), claims, sysfs_.native());
}

// Replaces the file in one step: a daemon that reads a half-written file sees no modules.
void DaemonProcess::configure(const std::string& toml) const {
  std::ofstream(folder_ / "cardcage.toml.new") << toml;
  std::filesystem::rename(folder_ / "cardcage.toml.new", folder_ / "cardcage.toml");
}

void DaemonProcess::start(Parent parent) {
  const std::string config = folder_ / "cardcage.toml";
  const std::string log = folder_ / "log";
  std::vector<std::string> arguments{binary_.native()};
  if (parent == Parent::kNone) arguments.emplace_back("--no-restart");
  arguments.insert(arguments.end(), {"--config", config});
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int failed = ::posix_spawn(&pid_, binary_.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start " + binary_.native());
}

bool DaemonProcess::wait_for_exit(Duration limit) const {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));  // glibc 2.36 declares it only for C
  pollfd exited{process.get(), POLLIN, 0};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
  return ::poll(&exited, 1, static_cast<int>(milliseconds)) == 1;
}

int DaemonProcess::stop(Duration limit) {
  ::kill(pid_, SIGTERM);
  if (!wait_for_exit(limit)) ::kill(pid_, SIGKILL);
  return reap();
}

void DaemonProcess::crash() {
  ::kill(pid_, SIGKILL);
  reap();
}

int DaemonProcess::reap() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

std::string DaemonProcess::log() const { return read_file(folder_ / "log", 1 << 24).value_or(""); }

std::vector<pid_t> DaemonProcess::workers() const { return proc::workers(pid_); }

std::vector<pid_t> DaemonProcess::processes() const {
  std::vector<pid_t> pids = workers();
  pids.push_back(pid_);
  return pids;
}

std::size_t DaemonProcess::pss_kib() const {
  std::size_t sum = 0;
  for (const pid_t pid : processes()) sum += proc::pss_kib(pid);
  return sum;
}

std::chrono::nanoseconds DaemonProcess::cpu_time() const {
  std::chrono::nanoseconds sum{0};
  for (const pid_t pid : processes()) sum += proc::cpu_time(pid);
  return sum;
}

}  // namespace cardcage
