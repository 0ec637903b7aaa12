// cardcage that kills itself or its workers at a fault point.
//
// MORTAL="point victim": when it reaches `point` (a number of FaultPoint) for the first time, it sends SIGKILL to the
// "host" or to all its "workers". SYSFS is the folder that stands for /sys.
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "host/daemon/daemon.h"
#include "tests/fakes/proc.h"

namespace {

cardcage::FaultHook death_from_environment() {
  const char* const text = std::getenv("MORTAL");
  if (text == nullptr) return {};
  int point = 0;
  std::string victim;
  std::istringstream(text) >> point >> victim;
  return [point, victim, reached = std::make_shared<std::atomic<bool>>(false)](cardcage::FaultPoint at) {
    if (static_cast<int>(at) != point || reached->exchange(true)) return;
    if (victim == "host") ::raise(SIGKILL);
    for (const pid_t worker : cardcage::proc::workers(::getpid())) ::kill(worker, SIGKILL);
  };
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;  // --no-restart --config FILE
  auto config = cardcage::load_config(argv[3]);
  if (!config) {
    fmt::print(stderr, "{}", config.error().to_string());
    return 1;
  }
  cardcage::configure_log(config->log.level, config->log.format);
  std::signal(SIGPIPE, SIG_IGN);
  auto daemon = cardcage::Daemon::create(std::move(*config), argv[3], {}, death_from_environment());
  if (!daemon) {
    fmt::print(stderr, "{}\n", daemon.error().message);
    return 1;
  }
  (*daemon)->run();
  return 0;
}
