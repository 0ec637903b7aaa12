// What an operator asks of one module.
#pragma once

#include <string>

#include "host/core/task.h"

namespace cardcage {

enum class ModuleVerb : std::uint8_t {
  kQuiesce,  // free the hardware until a resume
  kResume,   // take the hardware back
  kRestart   // make a fresh instance now, even if the module is broken
};

struct ModuleCommand {
  ModuleVerb verb = ModuleVerb::kRestart;
  std::string module;      // its name in the configuration
  std::string device;      // of the module, by name or id; empty = the whole module. Not for kRestart
  std::string by, reason;  // the operator, and why, for people; the reason may be empty
  Duration limit{};        // the outcome is known by then, or a little later
};

}  // namespace cardcage
