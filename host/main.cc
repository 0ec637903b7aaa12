// cardcage: the node daemon.
#include <fmt/core.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "host/config/config.h"
#include "host/core/memory.h"
#include "host/core/parent.h"
#include "host/core/version.h"
#include "host/daemon/daemon_run.h"
#include "host/module/check_modules.h"

namespace {

constexpr int kExitUsage = 2;
constexpr const char* kDefaultConfig = "/etc/cardcage/cardcage.toml";

int run(const std::string& file, const cardcage::Restarts& restarts) {
  auto config = cardcage::load_config(file);
  if (!config) {
    std::fputs(config.error().to_string().c_str(), stderr);
    return 1;
  }
  cardcage::configure_log(config->log.level, config->log.format);
  if (restarts.count > 0)
    cardcage::log(cardcage::LogLevel::kWarn, "the previous run of the daemon ended",
                  {{"how", restarts.last_end}, {"restarts", restarts.count}});
  // A peer that disconnects fails its call; it must not kill the daemon.
  std::signal(SIGPIPE, SIG_IGN);
  ::umask(0027);
  if (const auto ended = cardcage::run_daemon(std::move(*config), file, restarts); !ended) {
    cardcage::log(cardcage::LogLevel::kError, ended.error().message);
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  cardcage::share_heaps();
  CLI::App app("Cardcage: one daemon per Kubernetes node that turns hardware into devices for pods.", "cardcage");
  std::string config = kDefaultConfig, check;
  app.add_option("--config", config, "configuration file")->capture_default_str();
  app.add_option(
      "--check", check,
      "only validate this configuration file and its modules; exit status 0 if the daemon could run with it");
  bool no_restart = false;
  app.add_flag("--no-restart", no_restart,
               "run the daemon in this process, which ends when it crashes; for debuggers and tests");
  app.set_version_flag("--version", fmt::format("cardcage {}", cardcage::version()));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  if (check.empty()) {
    // The file is about to be read anyway. The daemon handles SIGHUP once it runs.
    std::signal(SIGHUP, SIG_IGN);
    if (no_restart) return run(config, {});
    return cardcage::keep_running([&](const cardcage::Restarts& restarts) { return run(config, restarts); });
  }
  cardcage::configure_log(cardcage::LogLevel::kWarn, cardcage::LogFormat::kText);
  return cardcage::check_config(check, stdout, cardcage::check_modules);
}
