// Random texts that authenticate their sender.
#pragma once

#include <string>
#include <string_view>

namespace cardcage {

// Returns 256 random bits as hex digits.
std::string random_secret();

// Compares in a time that does not depend on where the texts differ.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace cardcage
