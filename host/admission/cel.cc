#include "host/admission/cel.h"

#include <fmt/ranges.h>

#include <vector>

#include "host/core/utf8.h"

namespace cardcage {
namespace {

// The code point of one well-formed character.
char32_t code_point(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead;
  char32_t point = lead & (0x7fu >> character.size());
  for (const char c : character.substr(1)) point = point << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  return point;
}

}  // namespace

std::string cel_string(std::string_view text) {
  const char quote = text.contains('\'') && !text.contains('"') ? '"' : '\'';
  std::string quoted(1, quote);
  while (!text.empty()) {
    const std::size_t size = std::max<std::size_t>(utf8_character_size(text), 1);
    const char32_t point = code_point(text.substr(0, size));
    if (point == static_cast<unsigned char>(quote) || point == '\\')
      quoted += {'\\', text[0]};
    else if (point >= 0x20 && point < 0x7f)
      quoted += text[0];
    else
      quoted += fmt::format("\\U{:08x}", static_cast<std::uint32_t>(point));
    text.remove_prefix(size);
  }
  return quoted + quote;
}

std::string cel_strings(std::span<const std::string> texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(cel_string(text));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

}  // namespace cardcage
