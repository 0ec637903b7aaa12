// A configuration of Cardcage that an import writes: keys with the settings that they come from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ctl/import_settings.h"

namespace cardcage {

struct TomlLine {
  std::string text;  // `replicas = 4`
  std::string from;  // what its comment says, empty for none
};
struct TomlTable {
  std::string header;  // "[node]"
  std::vector<TomlLine> lines;
};

struct ImportDraft {
  std::string form;  // what the input is: "Helm values of NVIDIA's DRA driver"
  std::vector<TomlTable> tables;
};

// `text` as a TOML string, with quotes.
std::string toml_string(std::string_view text);
// The same for a path of the configuration, in which '$' begins a variable.
std::string toml_path(std::string_view path);

// The file: `title` as its first comment, the tables that have lines, and as comments at its end what has no
// counterpart and what is not needed.
std::string render_toml(std::string_view title, const std::vector<TomlTable>& tables,
                        const std::vector<ImportedSetting>& settings);

// "has no counterpart", "not needed", ...
std::string_view word_of(Fate fate);

}  // namespace cardcage
