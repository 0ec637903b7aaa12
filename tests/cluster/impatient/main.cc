// cardcage that looks for orphaned claims every second instead of every five minutes.
#include <fmt/core.h>
#include <sys/stat.h>

#include <csignal>

#include "host/daemon/daemon.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;  // --config FILE
  auto config = cardcage::load_config(argv[2]);
  if (!config) {
    fmt::print(stderr, "{}", config.error().to_string());
    return 1;
  }
  cardcage::configure_log(config->log.level, config->log.format);
  std::signal(SIGPIPE, SIG_IGN);
  ::umask(0027);
  const cardcage::OrphanPace pace{.search = std::chrono::seconds(1), .confirm = std::chrono::seconds(1)};
  auto daemon = cardcage::Daemon::create(std::move(*config), argv[2], {}, {}, pace);
  if (!daemon) {
    fmt::print(stderr, "{}\n", daemon.error().message);
    return 1;
  }
  (*daemon)->run();
  return 0;
}
