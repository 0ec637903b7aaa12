// Random texts that prove who sends them.
#pragma once

#include <string>
#include <string_view>

namespace cardcage {

// Returns 256 random bits as hex digits.
std::string random_secret();

// Takes the same time wherever the texts differ.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace cardcage
