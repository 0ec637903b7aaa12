// What the subcommands share: the global options, how they end, and how they are added to the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>

#include "host/core/result.h"

namespace cardcage {

// Documented in docs/operator.md.
enum ExitCode { kExitOk = 0, kExitError = 1, kExitUsage = 2, kExitNotRunning = 3 };

struct Session {
  std::filesystem::path socket = "/run/cardcage/admin.sock";
  bool json = false;
  Status outcome;  // of the subcommand that ran; kUnavailable means that nobody answers
};

// Each adds one subcommand that writes its result to stdout and its end to session.outcome. What the options are
// stored in lives as long as the app.
void add_status(CLI::App& app, Session& session);
void add_modules(CLI::App& app, Session& session);
void add_module(CLI::App& app, Session& session);
void add_devices(CLI::App& app, Session& session);
void add_claims(CLI::App& app, Session& session);
void add_history(CLI::App& app, Session& session);
void add_reload(CLI::App& app, Session& session);
void add_prepare(CLI::App& app, Session& session);
void add_unprepare(CLI::App& app, Session& session);
void add_watch_health(CLI::App& app, Session& session);
void add_completion(CLI::App& app, Session& session);
void add_names(CLI::App& app, Session& session);  // hidden: words for the completion scripts

}  // namespace cardcage
