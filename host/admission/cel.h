// Text of the Common Expression Language (https://cel.dev), in printable ASCII.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cardcage {

// With quotes: 'text', or "it's". The text is UTF-8.
std::string cel_string(std::string_view text);

// A list of strings: ['a', 'b'].
std::string cel_strings(std::span<const std::string> texts);

}  // namespace cardcage
