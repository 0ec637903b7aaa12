// From a [[module]] of the configuration to a module that can be started.
#pragma once

#include <filesystem>
#include <memory>

#include "host/config/config.h"
#include "host/core/clock.h"
#include "host/model/module.h"

namespace cardcage {

// [core] Stages the file, loads it on the thread on which all its calls will run, and checks its declarations and the
// configured options; the core never waits for a module's constructors. `core` and `clock` outlive the module. Errors
// name the file, or the position in the configuration, and the remedy. `left` gets what a failed load leaves behind.
Task<Result<std::shared_ptr<Module>>> load_module(asio::io_context& core, Clock& clock, ModuleConfig config,
                                                  std::filesystem::path modules_dir, Instant deadline,
                                                  Leftover* left = nullptr);

}  // namespace cardcage
