// What an operator asks of one module, or of one device.
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

enum class DeviceVerb : std::uint8_t {
  kCordon,    // no new pod gets it
  kUncordon,  // pods may get it again
  kClear,     // one cause of its health is over
  kReset,     // reset its hardware through the module, which ends causes
};

struct DeviceCommand {
  DeviceVerb verb = DeviceVerb::kCordon;
  std::string module;      // its name in the configuration; empty = whichever has the device
  std::string device;      // by name or id
  std::string cause;       // for kClear
  std::string by, reason;  // as in ModuleCommand
  bool force = false;      // for kReset: although somebody holds the device
  Duration limit{};        // for kReset: the outcome is known by then, or a little later
};

}  // namespace cardcage
