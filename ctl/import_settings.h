// What becomes of each setting of an imported file. A reader reports every key that it does not take, so none is lost.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctl/yaml_document.h"

namespace cardcage {

// "a, b" at ',' gives "a" and " b".
std::vector<std::string> split(std::string_view text, char separator);

enum class Fate : std::uint8_t {
  kTranslated,
  kNotNeeded,      // Cardcage does it anyway, or has no use for it
  kNote,           // translated, with a difference to know of
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

// A value with its place in the input.
template <class T>
struct Given {
  T value;
  std::string path;
  SourcePosition position;
};
using GivenText = std::optional<Given<std::string>>;
using GivenBool = std::optional<Given<bool>>;
using GivenNode = std::optional<Given<const YamlNode*>>;

// One run of an import: the settings, and the mistakes in the input.
class ImportRecord {
 public:
  // What has no position in the input is reported with `file` alone. `author` has documented the settings: "NVIDIA".
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
  // Something is lost, or may be.
  bool is_incomplete() const;

 private:
  std::string file_, author_;
  std::vector<ImportedSetting> settings_;
  ConfigErrors errors_;
};

// Reads the settings of one map. A getter returns nothing if the key is missing or null, or if its value has the wrong
// type, which is a mistake of the input. Its caller says what became of the value. Borrows the record and the document.
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
  // A list of texts; a single text is a list, too, whose words are separated by commas.
  std::optional<Given<std::vector<std::string>>> words(std::string_view key);
  SettingMap map(std::string_view key);
  std::vector<SettingMap> maps(std::string_view key);

  // The keys, with all that is below them, are not needed.
  void pass(std::initializer_list<std::string_view> keys, const std::string& reason);
  // A switch whose function Cardcage lacks: it is lost if it is on.
  void lose_if_on(std::string_view key, const std::string& text);
  // Reports the keys that nobody asked for, and those without a value. To be called last.
  void finish();

  const std::string& path() const { return path_; }
  // Where the map is; names it in a mistake about a key that is missing.
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
