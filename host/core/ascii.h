// Characters and parts of names. <cctype> depends on the locale; names are ASCII.
#pragma once

#include <algorithm>
#include <string_view>

namespace cardcage {

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_letter(char c) { return is_lower(c) || is_upper(c); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }
constexpr bool is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
constexpr char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

// True for letters, digits, '-', '.' and '_' without a leading dot: such a name may be part of a path or a URL.
constexpr bool is_plain_file_name(std::string_view text) {
  return !text.empty() && text.front() != '.' &&
         std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '-' || c == '.' || c == '_'; });
}

// True if `check` holds for each part between separators.
template <class Check>
bool each_part(std::string_view text, char separator, Check check) {
  while (true) {
    const auto end = text.find(separator);
    if (!check(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

}  // namespace cardcage
