// The order in which people expect names: node-2 before node-10.
#pragma once

#include <string_view>

namespace cardcage {

// Compares runs of digits as numbers. A total order: names that differ only in leading zeros are not equal.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace cardcage
