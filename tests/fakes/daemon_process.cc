#include "tests/fakes/daemon_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <thread>

#include "host/core/file.h"

namespace cardcage {

namespace fs = std::filesystem;

DaemonProcess::DaemonProcess(fs::path binary, const fs::path& module) : binary_(std::move(binary)) {
  for (const char* name : {"modules", "kubelet/plugins", "kubelet/plugins_registry", "state", "cdi", "node/claims"}) {
    fs::create_directories(folder_ / name);
  }
  const fs::path copy = folder_.path() / "modules" / module.filename();
  fs::copy_file(module, copy);
  fs::permissions(copy, fs::perms(0644));
  fs::permissions(copy.parent_path(), fs::perms(0755));
}

DaemonProcess::~DaemonProcess() {
  if (pid_ > 0) crash();
}

std::string DaemonProcess::node_section(const std::string& claims) const {
  return fmt::format(
      "[node]\nname = \"node1\"\nkubelet_root = \"{0}/kubelet\"\nstate_dir = \"{0}/state\"\ncdi_dir = \"{0}/cdi\"\n"
      "run_dir = \"{0}/run\"\nmodules_dir = \"{0}/modules\"\nadmin_socket = \"{0}/admin.sock\"\nclaims = \"{1}\"\n"
      "device_plugins_dir = \"{0}/device-plugins\"\n[metrics]\nlisten = \"\"\n",
      folder().native(), claims);
}

void DaemonProcess::configure(const std::string& toml) const { std::ofstream(folder_ / "cardcage.toml") << toml; }

void DaemonProcess::start() {
  const std::string config = folder_ / "cardcage.toml";
  const std::string log = folder_ / "log";
  std::string words[] = {binary_.native(), "--config", config};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int failed = ::posix_spawn(&pid_, binary_.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start " + binary_.native());
}

int DaemonProcess::stop(Duration limit) {
  ::kill(pid_, SIGTERM);
  const Instant end = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      crash();
      return SIGKILL;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  pid_ = -1;
  return status;
}

void DaemonProcess::crash() {
  ::kill(pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
}

bool DaemonProcess::running() const {
  siginfo_t about{};
  return pid_ > 0 && ::waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         about.si_pid == 0;
}

std::string DaemonProcess::log() const { return read_file(folder_ / "log", 1 << 24).value_or(""); }

std::vector<pid_t> DaemonProcess::workers() const {
  std::vector<pid_t> pids;
  for (const auto& thread : fs::directory_iterator(fmt::format("/proc/{}/task", pid_))) {
    std::ifstream children(thread.path() / "children");
    for (pid_t pid = 0; children >> pid;) {
      std::string name;  // a sanitizer has children, too
      std::getline(std::ifstream(fmt::format("/proc/{}/comm", pid)), name);
      if (name.starts_with("cardcage-worke")) pids.push_back(pid);
    }
  }
  return pids;
}

std::vector<pid_t> DaemonProcess::processes() const {
  std::vector<pid_t> pids = workers();
  pids.push_back(pid_);
  return pids;
}

long DaemonProcess::pss_kb() const {
  long sum = 0;
  for (const pid_t pid : processes()) {
    std::ifstream rollup(fmt::format("/proc/{}/smaps_rollup", pid));
    std::string line;
    while (std::getline(rollup, line) && !line.starts_with("Pss:")) {
    }
    if (!line.starts_with("Pss:")) throw std::runtime_error("no Pss in smaps_rollup");
    sum += std::stol(line.substr(4));
  }
  return sum;
}

std::chrono::nanoseconds DaemonProcess::cpu_time() const {
  // Per thread: /proc/PID/stat counts in ticks of 10 ms.
  std::chrono::nanoseconds sum{0};
  for (const pid_t pid : processes()) {
    for (const auto& thread : fs::directory_iterator(fmt::format("/proc/{}/task", pid))) {
      std::ifstream schedstat(thread.path() / "schedstat");
      std::int64_t nanoseconds = 0;
      schedstat >> nanoseconds;
      sum += std::chrono::nanoseconds(nanoseconds);
    }
  }
  return sum;
}

}  // namespace cardcage
