#include "host/config/document.h"

#include <algorithm>
#include <optional>

#include "host/core/ascii.h"

namespace cardcage {
namespace {

// toml++ limits the nesting of values but not the parts of a dotted key, each of which becomes a nested table that is
// destroyed recursively. The limit is far beyond any real file and harmless for a stack of 8 MiB.
constexpr std::ptrdiff_t kMaxDots = 10'000;

std::optional<SourcePosition> first_excess_dot(std::string_view text, const std::string& file) {
  if (std::ranges::count(text, '.') <= kMaxDots) return std::nullopt;
  SourcePosition position{file, 1, 1};
  std::ptrdiff_t dots = 0;
  for (const char c : text) {
    if (c == '.' && ++dots > kMaxDots) break;
    ++position.column;
    if (c == '\n') position = {file, position.line + 1, 1};
  }
  return position;
}

// Returns "; write [[module]]" for a second [module]: TOML allows tables of one name only as such a list.
std::string hint_for(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  if (!line.starts_with("[module") || line.find(']') == std::string_view::npos) return "";
  return fmt::format("; write [{}]", line.substr(0, line.find(']') + 1));
}

std::string describe(const toml::parse_error& error, std::string_view text) {
  std::string what(error.description());
  if (!what.empty()) what[0] = to_lower(what[0]);
  for (std::uint32_t line = 1; line < error.source().begin.line && !text.empty(); ++line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return "not valid TOML: " + what + hint_for(text.substr(0, text.find('\n')));
}

}  // namespace

std::expected<toml::table, ConfigErrors::Entry> parse_document(std::string_view text, const std::string& file) {
  if (const auto position = first_excess_dot(text, file))
    return std::unexpected(ConfigErrors::Entry{*position, fmt::format("more than {} dots in one file", kMaxDots)});
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    const auto& begin = error.source().begin;
    return std::unexpected(ConfigErrors::Entry{{file, begin.line, begin.column}, describe(error, text)});
  }
}

}  // namespace cardcage
