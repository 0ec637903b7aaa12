// Shell-style patterns: "*", "?", "[a-z]".
#pragma once

#include <string>

namespace cardcage {

// True if the pattern matches the whole text; '*' matches every character, '/' too.
bool matches_glob(const std::string& pattern, const std::string& text);

}  // namespace cardcage
