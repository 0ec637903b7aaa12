// The families of functions that the raw host offers.
#pragma once

#include <string_view>

namespace cardcage::raw {

// Null for an unknown id.
const void* family_of_host(std::string_view id);

}  // namespace cardcage::raw
