// The Cardcage configuration that an import writes: keys with their source settings.
#pragma once

#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "ctl/import/settings.h"

namespace cardcage {

struct TomlLine {
  std::string text;  // `replicas = 4`
  std::string from;  // source in the comment, empty for none
};
struct TomlTable {
  std::string header;  // "[node]"
  std::vector<TomlLine> lines;
};

struct ImportDraft {
  std::string form;  // form of the input: "Helm values of NVIDIA's DRA driver"
  std::vector<TomlTable> tables;
};

// Returns `text` as a TOML string, with quotes.
std::string toml_string(std::string_view text);
// Does the same for a path of the configuration, in which '$' begins a variable.
std::string toml_path(std::string_view path);

// Returns a list of the items, each of which `to_toml` writes.
template <class Items, class Write>
std::string toml_list(const Items& items, Write to_toml) {
  std::vector<std::string> written;
  for (const auto& item : items) written.push_back(to_toml(item));
  return fmt::format("[{}]", fmt::join(written, ", "));
}

// Renders the file: `title` as its first comment, the tables that have lines, and as comments at its end the settings
// without counterpart and those that are not needed.
std::string render_toml(std::string_view title, const std::vector<TomlTable>& tables,
                        const std::vector<ImportedSetting>& settings);

// Returns "has no counterpart", "not needed" and so on.
std::string_view word_of(Fate fate);

}  // namespace cardcage
