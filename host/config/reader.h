// Reads typed values out of TOML tables and collects all errors.
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

// One pass over one file: the errors so far, and the keys that readers asked for.
class Reading {
 public:
  Reading(std::string file, const Environment& environment) : file_(std::move(file)), environment_(environment) {}

  SourcePosition at(const toml::source_region& source) const { return {file_, source.begin.line, source.begin.column}; }
  // Escapes control characters of quoted input and cuts long messages, so that an error is one line.
  template <class... Args>
  void error(const SourcePosition& position, fmt::format_string<Args...> format, Args&&... args) {
    note({position, fmt::format(format, std::forward<Args>(args)...)});
  }
  void note(ConfigErrors::Entry entry);
  const Environment& environment() const { return environment_; }
  void add_known_key(std::string key) { known_keys_.insert(std::move(key)); }
  const std::set<std::string>& known_keys() const { return known_keys_; }

  bool failed() const { return !errors_.entries.empty(); }
  // Sorted by position.
  ConfigErrors take_errors();

 private:
  std::string file_;
  const Environment& environment_;
  ConfigErrors errors_;
  std::set<std::string> known_keys_;
};

// One table. A getter returns nothing if the key is missing, or if its value has the wrong type, which it reports as an
// error. Borrows the reading and the document.
class TableReader {
 public:
  // `path` names the table in messages: "node", "module.serve"; empty for the whole file.
  TableReader(Reading& reading, const toml::table* table, std::string path, SourcePosition position)
      : reading_(reading), table_(table), path_(std::move(path)), position_(std::move(position)) {}

  std::optional<Placed<std::string>> string(std::string_view key);
  // Reads a string and replaces environment variables.
  std::optional<Placed<std::string>> expanded(std::string_view key);
  // Like expanded(), for a string or a list of strings; empty if the key is missing.
  std::vector<Placed<std::string>> expanded_list(std::string_view key);
  // Reports a duration out of bounds, and returns it.
  std::optional<Placed<std::chrono::milliseconds>> duration(std::string_view key, std::chrono::milliseconds least,
                                                            std::chrono::milliseconds most);
  std::optional<Placed<std::int64_t>> integer(std::string_view key);
  std::optional<Placed<bool>> boolean(std::string_view key);
  // Reports a number out of bounds, and returns nothing.
  std::optional<std::uint32_t> count(std::string_view key, std::uint32_t least, std::uint32_t most);
  // Empty if the key is missing.
  std::vector<Placed<std::string>> strings(std::string_view key);
  std::vector<Placed<std::int64_t>> integers(std::string_view key);
  // Returns the value that `words` assigns to the key's text.
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
  // A missing table reads as an empty one.
  TableReader table(std::string_view key);
  std::vector<TableReader> tables(std::string_view key);
  // Reports the keys that no getter asked for, each with the nearest known key.
  void refuse_unknown_keys();

  // Reports the error "node.name: message".
  void refuse(std::string_view key, const SourcePosition& position, std::string_view message) {
    reading_.error(position, "{}: {}", name_of(key), message);
  }

  // Stores a value, or reports its error followed by `remedy`.
  template <class T>
  void store(std::string_view key, const SourcePosition& position, Result<T> given, T& value,
             std::string_view remedy = "") {
    if (given)
      value = std::move(*given);
    else
      refuse(key, position, given.error().message + std::string(remedy));
  }

  // "node.name" for "name".
  std::string name_of(std::string_view key) const;
  bool has(std::string_view key) const { return table_ && table_->contains(key); }
  // The position of the key's value, or of the table if the key is missing.
  SourcePosition position_of(std::string_view key) const {
    const toml::node* node = table_ ? table_->get(key) : nullptr;
    return node ? reading_.at(node->source()) : position_;
  }
  // Declares keys as known although no getter asks for them.
  void mark_known(std::span<const std::string_view> keys) {
    for (const auto key : keys) find(key);
  }
  const std::string& path() const { return path_; }
  const toml::table* raw() const { return table_; }
  // The start of the table; for a missing table, that of the table around it.
  const SourcePosition& position() const { return position_; }
  Reading& reading() { return reading_; }

 private:
  const toml::node* find(std::string_view key);
  std::optional<Placed<std::string>> expand(std::string_view key, const Placed<std::string>& text);
  template <class T>
  std::optional<Placed<T>> value(std::string_view key, std::string_view expected);
  template <class T>
  std::vector<Placed<T>> list(std::string_view key, std::string_view item, std::string_view items);
  void refuse_choice(std::string_view key, const Placed<std::string>& text, const std::vector<std::string>& known);

  Reading& reading_;
  const toml::table* table_;
  std::string path_;
  SourcePosition position_;
  std::vector<std::string> known_keys_;
};

// Describes a value in messages: "a string", "the integer 5", "a table", ...
std::string describe_value(const toml::node& node);

// Expands `$VAR`, `${VAR}` and `$$`. The error names the variable that is not set.
Result<std::string> expand_environment(std::string_view text, const Environment& environment);

}  // namespace cardcage
