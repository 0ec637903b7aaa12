// Loads a [[module]] of the configuration, up to a module that can be started.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "host/access/writes.h"
#include "host/config/config.h"
#include "host/core/clock.h"
#include "host/loader/loader.h"
#include "host/model/module.h"
#include "host/process/worker_groups.h"
#include "host/services/services.h"

namespace cardcage {

// Parts shared by the modules of one daemon; each may be null.
struct SharedParts {
  WorkerGroups* groups = nullptr;          // null: workers get no control group
  std::shared_ptr<HardwareWrites> writes;  // null: modules cannot switch drivers
  std::shared_ptr<Services> services;      // null: modules have no services
  NodeRoots roots = {};
  bool alone = false;  // no other module shares this process, so one that demands a process of its own may run in it
};

// For both functions, `core` and `clock` outlive the result. Errors name the file, or the position in the
// configuration, and the remedy. `left` gets the leftover of a failed attempt.

// [core] Stages the configured file without running any of its code.
Task<Result<ModuleBuild>> stage_module(asio::io_context& core, Clock& clock, ModuleConfig config,
                                       std::vector<std::filesystem::path> modules_dirs, Instant deadline,
                                       Leftover* left = nullptr);

// [core] Loads the build on the thread on which all its calls will run, and checks its declarations and the configured
// options; the core never waits for a module's constructors. One build makes any number of workers, but only one module
// inside the daemon, since the dynamic loader maps a file once.
Task<Result<std::shared_ptr<Module>>> load_module(asio::io_context& core, Clock& clock, ModuleConfig config,
                                                  ModuleBuild build, Instant deadline, SharedParts shared = {},
                                                  Leftover* left = nullptr);

// Makes the error for a module that is configured to run inside the daemon but declares that it cannot.
std::unexpected<Error> must_run_in_process(const ModuleConfig& config);

}  // namespace cardcage
