// UTF-8 text of bounded size.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cardcage {

// The size in bytes of the well-formed character (Unicode 15, table 3-7) that `text` begins with; 0 if there is none.
std::size_t utf8_character_size(std::string_view text);

// `text` in at most `max` bytes. A longer text is cut between characters and ends with "...". Each byte that is not
// UTF-8 becomes '?', because a Go peer refuses a whole protobuf message for one such byte.
std::string cut_utf8(std::string_view text, std::size_t max);

}  // namespace cardcage
