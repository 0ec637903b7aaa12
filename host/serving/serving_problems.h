// Finds problems between the rules and devices of modules, each of which is valid by itself.
#pragma once

#include <string>
#include <vector>

#include "host/serving/device_table.h"

namespace cardcage {

// "cardcage.toml:12:3: select matches no device of module 'gpu'" for each rule of the module that takes none of these
// devices. Nothing while it lists none.
std::vector<std::string> idle_rules(const ModuleConfig& config, const std::vector<ServedDevice>& devices);

// Devices that are one piece of hardware, so that the scheduler would give it to two pods. Two modules with one id name
// it by one device id; modules with different ids are compared by PCI address. Devices that no rule takes do not count.
std::vector<std::string> shared_hardware(const std::vector<const ServedDevice*>& devices);

}  // namespace cardcage
