// Finds problems between the rules and devices of modules, each of which is valid by itself.
#pragma once

#include <string>
#include <vector>

#include "host/serving/listed_module.h"

namespace cardcage {

// Returns "cardcage.toml:12:3: select matches no device of module 'gpu'" for each rule of the module that takes none of
// these devices; nothing while the module lists no devices.
std::vector<std::string> idle_rules(const ModuleConfig& config, const std::vector<ServedDevice>& devices);

// Finds devices that are one piece of hardware, which the scheduler would give to two pods. Two modules with one id
// give it the same device id; modules with different ids are compared by PCI address. Devices that no rule takes are
// skipped.
std::vector<std::string> shared_hardware(const std::vector<const ServedDevice*>& devices);

}  // namespace cardcage
