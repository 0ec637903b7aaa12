// Finds the FPGA cards of the node.
#pragma once

#include <string_view>

#include "modules/fpga/target.h"

namespace cardcage::fpga {

// Lists the parts of a card before the card as a whole.
Targets find_targets(const Tools& tools);
// Looks at one card only. Returns null if there is no such target.
std::unique_ptr<Target> find_target(const Tools& tools, std::string_view id);

// Returns "0000:3b:00.0" for "0000:3b:00.0/port-0".
std::string_view card_of(std::string_view id);
// Returns "fpga-0000-3b-00-0", a DNS label.
std::string name_of_card(std::string_view bus_id);

}  // namespace cardcage::fpga
