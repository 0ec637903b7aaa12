#include "host/config/document.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace cardcage {
namespace {

// toml++ limits nested values but not the parts of a dotted key, each of which is a table in a table that is
// destroyed recursively. Far beyond any real file, and harmless for a stack of 8 MiB.
constexpr std::ptrdiff_t kMostDots = 10'000;

std::optional<SourcePosition> dot_too_many(std::string_view text, const std::string& file) {
  if (std::ranges::count(text, '.') <= kMostDots) return std::nullopt;
  SourcePosition position{file, 1, 1};
  std::ptrdiff_t dots = 0;
  for (const char c : text) {
    if (c == '.' && ++dots > kMostDots) break;
    ++position.column;
    if (c == '\n') position = {file, position.line + 1, 1};
  }
  return position;
}

std::string describe(const toml::parse_error& error) {
  std::string text(error.description());
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return "not valid TOML: " + text;
}

}  // namespace

std::expected<toml::table, ConfigErrors::Entry> parse_document(std::string_view text, const std::string& file) {
  if (const auto position = dot_too_many(text, file))
    return std::unexpected(ConfigErrors::Entry{*position, fmt::format("more than {} dots in one file", kMostDots)});
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    const auto& begin = error.source().begin;
    return std::unexpected(ConfigErrors::Entry{{file, begin.line, begin.column}, describe(error)});
  }
}

}  // namespace cardcage
