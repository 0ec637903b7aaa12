// All FPGA cards of the node.
#pragma once

#include <string_view>

#include "modules/fpga/target.h"

namespace cardcage::fpga {

// Parts of a card come before the card as a whole.
Targets find_targets(const Tools& tools);
// Looks at one card only. Null if there is no such target.
std::unique_ptr<Target> find_target(const Tools& tools, std::string_view id);

// "0000:3b:00.0" of "0000:3b:00.0/port-0".
std::string_view card_of(std::string_view id);
// "fpga-0000-3b-00-0": a DNS label.
std::string name_of_card(std::string_view bus_id);

}  // namespace cardcage::fpga
