// Text for others: valid UTF-8 of bounded size.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cardcage {

// `text` in at most `max` bytes. A longer one is cut between characters and ends with "..."; bytes that are not UTF-8
// become '?': a Go peer refuses the whole protobuf message that holds one.
std::string cut_utf8(std::string_view text, std::size_t max);

}  // namespace cardcage
