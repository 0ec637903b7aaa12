// What an operator can tell one module.
#pragma once

#include <string>

#include "host/core/task.h"

namespace cardcage {

enum class ModuleVerb : std::uint8_t {
  kQuiesce,  // let go of the hardware, and keep it so
  kResume,   // take it back
  kRestart   // make a fresh instance now, whatever happened before
};

struct ModuleCommand {
  ModuleVerb verb = ModuleVerb::kRestart;
  std::string module;      // in the configuration
  std::string by, reason;  // who says so, and why: for people, the second may be empty
  Duration limit{};        // an answer comes by then, or a little later
};

}  // namespace cardcage
