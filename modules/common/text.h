// Text that programs and files of the node give.
#pragma once

#include <string_view>

namespace cardcage::hardware {

// Returns `text` without white space at its ends.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

}  // namespace cardcage::hardware
