// FPGA hardware that the module finds but does not offer as a device, for operators.
#pragma once

#include <map>
#include <string>

#include "modules/fpga/target.h"

namespace cardcage::fpga {

// Returns the reasons by name: the address of a PCI function, or "0000:3b:00.0/dfl-port.2" for a port. `offered` has
// all targets of the node. Virtual functions are left out: they are parts of their card.
std::map<std::string, std::string> find_not_offered(const Tools& tools, const Targets& offered);

}  // namespace cardcage::fpga
