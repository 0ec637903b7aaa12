// Records the result for each setting of an imported file. A reader reports every key that it does not know, so none is
// lost.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctl/import/yaml_document.h"

namespace cardcage {

// Splits "a, b" at ',' into "a" and " b".
std::vector<std::string> split(std::string_view text, char separator);

enum class Fate : std::uint8_t {
  kTranslated,
  kNotNeeded,      // Cardcage always does it, or does not need it
  kNote,           // translated, with a difference that the operator should know
  kNoCounterpart,  // lost; the text says what to do instead
  kUnknown,        // not a setting of this kind of file
};

// One setting, or a group of settings with a common path.
struct ImportedSetting {
  std::string path;  // "sharing.timeSlicing.resources[0].replicas"
  SourcePosition position;
  Fate fate = Fate::kUnknown;
  std::string text;
};

// A value with its position in the input.
template <class T>
struct Given {
  T value;
  std::string path;
  SourcePosition position;
};
using GivenText = std::optional<Given<std::string>>;
using GivenBool = std::optional<Given<bool>>;
using GivenNode = std::optional<Given<const YamlNode*>>;

// The settings and input errors of one import.
class ImportRecord {
 public:
  // Reports entries without a position with `file` alone. `author` documented the settings: "NVIDIA".
  ImportRecord(std::string file, std::string author) : file_(std::move(file)), author_(std::move(author)) {}

  void say(Fate fate, std::string_view path, SourcePosition position, std::string_view text);
  template <class T>
  void say(Fate fate, const Given<T>& given, std::string_view text = "") {
    say(fate, given.path, given.position, text);
  }
  void error(SourcePosition position, std::string_view message);
  template <class T>
  void error(const Given<T>& given, std::string_view message) {
    error(given.position, given.path + ": " + std::string(message));
  }

  const std::string& author() const { return author_; }
  const std::vector<ImportedSetting>& settings() const { return settings_; }
  const ConfigErrors& errors() const { return errors_; }
  bool failed() const { return !errors_.entries.empty(); }
  // Returns true if a setting is or may be lost.
  bool is_incomplete() const;

 private:
  std::string file_, author_;
  std::vector<ImportedSetting> settings_;
  ConfigErrors errors_;
};

// Reads the settings of one map. A getter returns nothing if the key is missing or null, or if its value has the wrong
// type, which is an input error. The caller records the result for the value. Borrows the record and the document.
class SettingMap {
 public:
  // `node` is a map or null; a missing map reads as an empty one. `path` ends in '.' unless it is empty.
  SettingMap(ImportRecord& record, const YamlNode* node, std::string path = "");

  bool has(std::string_view key) const { return node_ != nullptr && node_->find(key) != nullptr; }
  bool has_members() const { return node_ != nullptr && !node_->members.empty(); }
  GivenNode any(std::string_view key);
  GivenNode of_kind(std::string_view key, YamlNode::Kind kind, std::string_view wanted);  // "a list"
  GivenText text(std::string_view key);
  GivenText choice(std::string_view key, std::initializer_list<std::string_view> words);
  GivenBool boolean(std::string_view key);
  std::optional<Given<std::int64_t>> integer(std::string_view key);
  std::optional<Given<std::vector<std::string>>> texts(std::string_view key);  // a list of texts
  // Reads a list of texts; a single text is a list of comma-separated words.
  std::optional<Given<std::vector<std::string>>> words(std::string_view key);
  SettingMap map(std::string_view key);
  std::vector<SettingMap> maps(std::string_view key);

  // Marks the keys, with all that is below them, as not needed.
  void pass(std::initializer_list<std::string_view> keys, const std::string& reason);
  // Reads a switch without a counterpart in Cardcage: the setting is lost if it is on.
  void lose_if_on(std::string_view key, const std::string& text);
  // Reports the keys that were not read, and those without a value. Call it last.
  void finish();

  const std::string& path() const { return path_; }
  // Returns the position of the map, for an error about a missing key.
  Given<std::string> place() const;
  ImportRecord& record() { return record_; }

 private:
  template <class T, class Read>
  std::optional<Given<T>> read(std::string_view key, std::string_view wanted, Read read_value);

  ImportRecord& record_;
  const YamlNode* node_;
  std::string path_;
  std::set<std::string, std::less<>> known_, passed_;
};

}  // namespace cardcage
