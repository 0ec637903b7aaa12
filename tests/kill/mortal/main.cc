// The daemon, which kills itself or the workers of its modules at the fault points that tests name.
//
// MORTAL="point nth victim": at the nth time that `point` (a number of FaultPoint) is reached, SIGKILL for the "host"
// or for all its "workers", once. Nothing else differs from cardcage.
#include <fmt/core.h>
#include <signal.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "host/daemon.h"

namespace {

void kill_workers() {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(thread.path() / "children");
    for (pid_t pid = 0; children >> pid;) ::kill(pid, SIGKILL);
  }
}

cardcage::FaultHook mortality() {
  const char* const text = std::getenv("MORTAL");
  if (text == nullptr) return {};
  int point = 0, nth = 0;
  std::string victim;
  std::istringstream(text) >> point >> nth >> victim;
  return [point, nth, victim, reached = std::make_shared<std::atomic<int>>(0)](cardcage::FaultPoint at) {
    if (static_cast<int>(at) != point || ++*reached != nth) return;
    if (victim == "workers")
      kill_workers();
    else
      ::raise(SIGKILL);
  };
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;  // --config FILE
  auto config = cardcage::load_config(argv[2]);
  if (!config) {
    fmt::print(stderr, "{}", config.error().to_string());
    return 1;
  }
  cardcage::configure_log(config->log.level, config->log.format);
  std::signal(SIGPIPE, SIG_IGN);
  auto daemon = cardcage::Daemon::create(std::move(*config), argv[2], mortality());
  if (!daemon) {
    fmt::print(stderr, "{}\n", daemon.error().message);
    return 1;
  }
  (*daemon)->run();
  return 0;
}
