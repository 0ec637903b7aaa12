// Texts of the host as a module sees them.
#pragma once

#include <string>

#include "cardcage/module.h"

namespace cardcage {

// Valid as long as `text` is; ends in NUL.
inline cage_str lent(const std::string& text) { return {text.c_str(), text.size()}; }

}  // namespace cardcage
