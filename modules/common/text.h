// Text that programs and files of the node give.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>

namespace cardcage::hardware {

// Returns `text` without white space at its ends.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

// Parses the whole text as one number.
template <std::integral Number>
std::optional<Number> number_of(std::string_view text, int base = 10) {
  Number number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number, base);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

}  // namespace cardcage::hardware
