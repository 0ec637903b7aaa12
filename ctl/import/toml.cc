#include "ctl/import/toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "host/model/text_rules.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxAligned = 60;  // longer lines do not move the comments of others
constexpr std::size_t kWidth = 110;

// Wraps `words` into comment lines, the first of which begins with `first`.
std::string wrapped(std::string_view first, const std::vector<std::string>& words) {
  std::string text(first);
  std::size_t width = text.size();
  bool begins = true;
  for (const std::string& word : words) {
    if (!begins && width + 1 + word.size() > kWidth) {
      text += "\n#    ";
      width = 5;
    }
    text += begins ? word : " " + word;
    width += word.size() + 1;
    begins = false;
  }
  return text + "\n";
}

// Joins settings with the same text in one paragraph: "migStrategy, gdsEnabled: is off".
std::string paragraphs(const std::vector<ImportedSetting>& settings, Fate fate) {
  std::vector<std::pair<std::string, std::string>> groups;  // text, paths
  for (const ImportedSetting& setting : settings) {
    if (setting.fate != fate) continue;
    const auto group = std::ranges::find(groups, setting.text, &std::pair<std::string, std::string>::first);
    if (group == groups.end())
      groups.emplace_back(setting.text, setting.path);
    else
      group->second += ", " + setting.path;
  }
  std::string text;
  for (const auto& [reason, paths] : groups) text += wrapped("#  ", split(fmt::format("{}: {}", paths, reason), ' '));
  return text;
}

std::string render_table(const TomlTable& table) {
  std::size_t widest = 0;
  for (const TomlLine& line : table.lines)
    if (!line.from.empty() && line.text.size() <= kMaxAligned) widest = std::max(widest, line.text.size());
  std::string text = "\n" + table.header + "\n";
  for (const TomlLine& line : table.lines)
    text += line.from.empty()
                ? line.text + "\n"
                : fmt::format("{:<{}}  # {}\n", line.text, widest, printable(line.from, line.from.size()));
  return text;
}

}  // namespace

std::string toml_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      quoted += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      quoted += c;
  }
  return quoted + "\"";
}

std::string toml_path(std::string_view path) {
  std::string escaped;
  for (const char c : path) escaped += c == '$' ? "$$" : std::string(1, c);
  return toml_string(escaped);
}

std::string_view word_of(Fate fate) {
  switch (fate) {
    case Fate::kTranslated: return "translated";
    case Fate::kNotNeeded: return "not needed";
    case Fate::kNote: return "note";
    case Fate::kNoCounterpart: return "no counterpart";
    case Fate::kUnknown: return "unknown";
  }
  return "";
}

std::string render_toml(std::string_view title, const std::vector<TomlTable>& tables,
                        const std::vector<ImportedSetting>& settings) {
  std::string text = fmt::format("# {}\n# Each comment names the setting that its line comes from.\n", title);
  for (const TomlTable& table : tables)
    if (!table.lines.empty()) text += render_table(table);
  for (const auto& [fate, heading] : std::initializer_list<std::pair<Fate, std::string_view>>{
           {Fate::kNoCounterpart, "Without a counterpart in Cardcage:"},
           {Fate::kUnknown, "Unknown settings:"},
           {Fate::kNote, "Differences:"},
           {Fate::kNotNeeded, "Not needed:"}})
    if (const std::string list = paragraphs(settings, fate); !list.empty())
      text += fmt::format("\n# {}\n{}", heading, list);
  return text;
}

}  // namespace cardcage
