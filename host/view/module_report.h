// The state of a module, for operators.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "host/supervision/supervisor.h"
#include "host/view/daemon_view.h"

namespace cardcage {

struct ModuleFacts {
  ModuleState state = ModuleState::kStarting;
  std::string detail;                  // reason for the state
  std::string draining;                // reason to drain, and what the module waits for; empty = it does not drain
  bool undecided = false;              // the outcome of a start, a new file or a new configuration is still open
  std::optional<std::string> refused;  // why the wanted configuration or file is not in use
};
ModuleFacts module_facts(const Supervisor& supervisor, std::string draining);

Condition module_condition(const ModuleFacts& facts);
// Returns the condition of a module after a reload.
Condition reload_outcome(const ModuleFacts& facts);
// Returns the condition of a removed module.
Condition gone_condition();

// Returns "user nobody, no capabilities, seccomp"; empty if the module has the daemon's rights.
std::string text_of_confinement(const ProcessConfig& process);
ModulePermissions permissions_of(const ModuleConfig& config);

ModuleReport module_report(const Supervisor& supervisor, std::string draining);

}  // namespace cardcage
