// Shared by the subcommands: the global options, the exit codes, and the functions that add each to the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>

#include "host/core/result.h"

namespace cardcage {

// Documented in docs/operator.md.
enum ExitCode { kExitOk = 0, kExitError = 1, kExitUsage = 2, kExitNotRunning = 3, kExitIncomplete = 4 };

struct Session {
  std::filesystem::path socket = "/run/cardcage/admin.sock";
  bool json = false;
  Status outcome;           // outcome of the subcommand; kUnavailable: the daemon or driver does not respond
  bool incomplete = false;  // an import succeeded, but lost settings
  // exit() would wait without end for one that hangs in a constructor: it holds the dynamic loader's lock.
  bool has_threads_of_module = false;
};

// Each function adds one subcommand, which writes its result to stdout and sets session.outcome. The app owns the
// storage of the options.
void add_status(CLI::App& app, Session& session);
void add_ready(CLI::App& app, Session& session);
void add_modules(CLI::App& app, Session& session);
void add_module(CLI::App& app, Session& session);
void add_module_check(CLI::App& module, Session& session);
void add_module_run(CLI::App& module, Session& session);
void add_module_admission(CLI::App& module, Session& session);
void add_devices(CLI::App& app, Session& session);
void add_device(CLI::App& app, Session& session);
void add_health(CLI::App& app, Session& session);
void add_health_rules(CLI::App& health, Session& session);
void add_catalogue(CLI::App& app, Session& session);
void add_claims(CLI::App& app, Session& session);
void add_history(CLI::App& app, Session& session);
void add_reload(CLI::App& app, Session& session);
void add_prepare(CLI::App& app, Session& session);
void add_unprepare(CLI::App& app, Session& session);
void add_watch_health(CLI::App& app, Session& session);
void add_web(CLI::App& app, Session& session);
void add_import(CLI::App& app, Session& session);
void add_completion(CLI::App& app, Session& session);
void add_names(CLI::App& app, Session& session);  // hidden: words for the completion scripts

}  // namespace cardcage
