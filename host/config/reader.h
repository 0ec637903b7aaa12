// Reads typed values out of TOML tables and collects everything that is wrong with them.
#pragma once

#include <toml++/toml.h>

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/config/config.h"

namespace cardcage {

template <class T>
struct Placed {
  T value;
  SourcePosition position;
};

// One pass over one file: its errors so far, and which keys were asked for.
class Reading {
 public:
  Reading(std::string file, const Environment& environment) : file_(std::move(file)), environment_(environment) {}

  SourcePosition at(const toml::source_region& source) const { return {file_, source.begin.line, source.begin.column}; }
  // Control characters of quoted input are escaped and long messages cut: an error is one line.
  template <class... Args>
  void error(const SourcePosition& position, fmt::format_string<Args...> format, Args&&... args) {
    note({position, fmt::format(format, std::forward<Args>(args)...)});
  }
  void note(ConfigErrors::Entry entry);
  const Environment& environment() const { return environment_; }
  void knows(std::string key) { known_.insert(std::move(key)); }
  const std::set<std::string>& known() const { return known_; }

  bool failed() const { return !errors_.entries.empty(); }
  // Sorted by position.
  ConfigErrors take_errors();

 private:
  std::string file_;
  const Environment& environment_;
  ConfigErrors errors_;
  std::set<std::string> known_;
};

// One table. A getter returns nothing if the key is missing or its value is of the wrong type (an error by then).
// Borrows the reading and the document.
class TableReader {
 public:
  // `path` is how messages call the table: "node", "module.serve"; empty for the whole file.
  TableReader(Reading& reading, const toml::table* table, std::string path, SourcePosition position)
      : reading_(reading), table_(table), path_(std::move(path)), position_(std::move(position)) {}

  std::optional<Placed<std::string>> string(std::string_view key);
  // With environment variables replaced.
  std::optional<Placed<std::string>> expanded(std::string_view key);
  std::optional<Placed<std::chrono::milliseconds>> duration(std::string_view key);
  std::optional<Placed<std::int64_t>> integer(std::string_view key);
  std::optional<Placed<bool>> boolean(std::string_view key);
  // Empty if there is none.
  std::vector<Placed<std::string>> strings(std::string_view key);
  // One of `words`: the value that stands beside it.
  template <class T, std::size_t N>
  std::optional<T> choice(std::string_view key, const std::pair<std::string_view, T> (&words)[N]) {
    const auto text = string(key);
    if (!text) return std::nullopt;
    std::vector<std::string> known;
    for (const auto& [word, value] : words) {
      if (text->value == word) return value;
      known.emplace_back(word);
    }
    refuse_choice(key, *text, known);
    return std::nullopt;
  }
  // A table that is missing reads as an empty one.
  TableReader table(std::string_view key);
  std::vector<TableReader> tables(std::string_view key);
  // Reports the keys that nobody asked for, with the nearest one that somebody did.
  void refuse_the_rest();

  // Notes "node.name: message".
  void refuse(std::string_view key, const SourcePosition& position, std::string_view message) {
    reading_.error(position, "{}: {}", name_of(key), message);
  }

  // "node.name" for "name".
  std::string name_of(std::string_view key) const;
  bool has(std::string_view key) const { return table_ && table_->contains(key); }
  // Of the key's value, or of the table if there is none.
  SourcePosition position_of(std::string_view key) const {
    const toml::node* node = table_ ? table_->get(key) : nullptr;
    return node ? reading_.at(node->source()) : position_;
  }
  // Takes keys as known that this reading did not look at.
  void mark(std::span<const std::string_view> keys) {
    for (const auto key : keys) find(key);
  }
  const std::string& path() const { return path_; }
  const toml::table* raw() const { return table_; }
  // Where the table begins, or the one around it if it is missing.
  const SourcePosition& position() const { return position_; }
  Reading& reading() { return reading_; }

 private:
  const toml::node* find(std::string_view key);
  void refuse_choice(std::string_view key, const Placed<std::string>& text, const std::vector<std::string>& known);

  Reading& reading_;
  const toml::table* table_;
  std::string path_;
  SourcePosition position_;
  std::vector<std::string> asked_;
};

// "a string", "an integer 5", "a table", ...: what was found where something else was expected.
std::string describe_value(const toml::node& node);

// `$VAR`, `${VAR}` and `$$`; the error names the variable that is not set.
Result<std::string> expand_environment(std::string_view text, const Environment& environment);

}  // namespace cardcage
