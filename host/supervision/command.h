// Commands of an operator for one module or one device.
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
  std::string module;      // name in the configuration
  std::string device;      // name or id of one device; empty = the whole module. Not for kRestart
  std::string by, reason;  // the operator and the reason, for people; the reason may be empty
  Duration limit{};        // time for the outcome, which may come a little later
};

enum class DeviceVerb : std::uint8_t {
  kCordon,    // keeps new pods away from it
  kUncordon,  // pods may get it again
  kClear,     // ends one cause of its health
  kReset,     // resets its hardware through the module, which ends causes
};

struct DeviceCommand {
  DeviceVerb verb = DeviceVerb::kCordon;
  std::string module;      // name in the configuration; empty = the module with the device
  std::string device;      // name or id
  std::string cause;       // for kClear
  std::string by, reason;  // as in ModuleCommand
  bool force = false;      // for kReset: even if the device has holders
  Duration limit{};        // for kReset: time for the outcome, which may come a little later
};

}  // namespace cardcage
