// Reads a number that is the whole of a text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace cardcage {

// Reads the number as std::from_chars() does. Returns nothing if anything follows it, or if it does not fit.
template <class T>
std::optional<T> number_from(std::string_view text, int base = 10) {
  T number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace cardcage
