#include "ctl/import/settings.h"

#include <algorithm>
#include <utility>

#include "host/core/nearest.h"
#include "host/core/number.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxQuoted = 400;  // bytes of a message or path, which may quote the input

std::string_view kind_of(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull: return "nothing";
    case YamlNode::Kind::kScalar: return "a value";
    case YamlNode::Kind::kList: return "a list";
    case YamlNode::Kind::kMap: return "a map";
  }
  return "";
}

std::string describe(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kScalar ? fmt::format("'{}'", node.text) : std::string(kind_of(node));
}

// Reads a boolean as YAML 1.1, like Kubernetes' tools.
std::optional<bool> boolean_of(const YamlNode& node) {
  if (node.quoted) return std::nullopt;
  for (const auto& [word, value] : std::initializer_list<std::pair<std::string_view, bool>>{
           {"true", true}, {"yes", true}, {"on", true}, {"false", false}, {"no", false}, {"off", false}})
    if (std::ranges::equal(node.text, word, {}, [](unsigned char c) { return std::tolower(c); })) return value;
  return std::nullopt;
}

std::optional<std::int64_t> integer_of(const YamlNode& node) {
  const bool octal = node.text.size() > 1 && node.text.starts_with('0');  // octal in YAML 1.1, decimal in YAML 1.2
  if (octal || node.quoted) return std::nullopt;
  return number_from<std::int64_t>(node.text);
}

std::optional<std::vector<std::string>> list_of(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kList) return std::nullopt;
  std::vector<std::string> list;
  for (const YamlNode& item : node.items) {
    if (item.kind != YamlNode::Kind::kScalar) return std::nullopt;
    list.push_back(item.text);
  }
  return list;
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

void ImportRecord::say(Fate fate, std::string_view path, SourcePosition position, std::string_view text) {
  if (position.file.empty()) position.file = file_;
  settings_.push_back({printable(path, kMaxQuoted), std::move(position), fate, printable(text, kMaxQuoted)});
}

void ImportRecord::error(SourcePosition position, std::string_view message) {
  if (position.file.empty()) position.file = file_;
  errors_.entries.push_back({std::move(position), printable(message, kMaxQuoted)});
}

bool ImportRecord::is_incomplete() const {
  return std::ranges::any_of(
      settings_, [](Fate fate) { return fate == Fate::kNoCounterpart || fate == Fate::kUnknown; },
      &ImportedSetting::fate);
}

SettingMap::SettingMap(ImportRecord& record, const YamlNode* node, std::string path)
    : record_(record), node_(node), path_(std::move(path)) {}

GivenNode SettingMap::any(std::string_view key) {
  known_.emplace(key);
  const YamlMember* member = node_ != nullptr ? node_->find(key) : nullptr;
  if (member == nullptr || member->value.kind == YamlNode::Kind::kNull) return std::nullopt;
  return Given<const YamlNode*>{&member->value, path_ + member->name, member->position};
}

GivenNode SettingMap::of_kind(std::string_view key, YamlNode::Kind kind, std::string_view wanted) {
  return read<const YamlNode*>(
      key, wanted, [kind](const YamlNode& node) { return node.kind == kind ? std::optional(&node) : std::nullopt; });
}

template <class T, class Read>
std::optional<Given<T>> SettingMap::read(std::string_view key, std::string_view wanted, Read read_value) {
  const GivenNode given = any(key);
  if (!given) return std::nullopt;
  if (auto value = read_value(*given->value)) return Given<T>{std::move(*value), given->path, given->position};
  record_.error(given->value->position,
                fmt::format("{}: expected {}, found {}", given->path, wanted, describe(*given->value)));
  return std::nullopt;
}

GivenText SettingMap::text(std::string_view key) {
  return read<std::string>(key, "a text", [](const YamlNode& node) {
    return node.kind == YamlNode::Kind::kScalar ? std::optional(node.text) : std::nullopt;
  });
}

GivenText SettingMap::choice(std::string_view key, std::initializer_list<std::string_view> words) {
  auto given = text(key);
  if (!given || std::ranges::find(words, given->value) != words.end()) return given;
  record_.error(*given, fmt::format("'{}' is none of the values that {} knows; write one of: {}", given->value,
                                    record_.author(), fmt::join(words, ", ")));
  return std::nullopt;
}

GivenBool SettingMap::boolean(std::string_view key) { return read<bool>(key, "true or false", boolean_of); }

std::optional<Given<std::int64_t>> SettingMap::integer(std::string_view key) {
  return read<std::int64_t>(key, "an integer without quotes", integer_of);
}

std::optional<Given<std::vector<std::string>>> SettingMap::texts(std::string_view key) {
  return read<std::vector<std::string>>(key, "a list of texts", list_of);
}

std::optional<Given<std::vector<std::string>>> SettingMap::words(std::string_view key) {
  return read<std::vector<std::string>>(key, "a text or a list of texts", [](const YamlNode& node) {
    return node.kind == YamlNode::Kind::kScalar ? std::optional(split(node.text, ',')) : list_of(node);
  });
}

SettingMap SettingMap::map(std::string_view key) {
  const GivenNode node = of_kind(key, YamlNode::Kind::kMap, "a map");
  if (node && node->value->members.empty()) record_.say(Fate::kNotNeeded, *node, "empty");
  return {record_, node ? node->value : nullptr, fmt::format("{}{}.", path_, key)};
}

std::vector<SettingMap> SettingMap::maps(std::string_view key) {
  std::vector<SettingMap> list;
  const GivenNode node = of_kind(key, YamlNode::Kind::kList, "a list");
  if (!node) return list;
  if (node->value->items.empty()) record_.say(Fate::kNotNeeded, *node, "empty");
  for (const YamlNode& item : node->value->items) {
    const std::string path = fmt::format("{}[{}]", node->path, list.size());
    if (item.kind != YamlNode::Kind::kMap)
      record_.error(item.position, fmt::format("{}: expected a map, found {}", path, describe(item)));
    list.emplace_back(record_, item.kind == YamlNode::Kind::kMap ? &item : nullptr, path + ".");
  }
  return list;
}

void SettingMap::pass(std::initializer_list<std::string_view> keys, const std::string& reason) {
  for (const std::string_view key : keys) {
    known_.emplace(key);
    const YamlMember* member = node_ != nullptr ? node_->find(key) : nullptr;
    if (member == nullptr) continue;
    passed_.emplace(key);
    record_.say(Fate::kNotNeeded, path_ + member->name, member->position, reason);
  }
}

void SettingMap::lose_if_on(std::string_view key, const std::string& text) {
  if (const GivenBool given = boolean(key))
    record_.say(given->value ? Fate::kNoCounterpart : Fate::kNotNeeded, *given, given->value ? text : "off");
}

void SettingMap::finish() {
  if (node_ == nullptr) return;
  const std::vector<std::string> known(known_.begin(), known_.end());
  for (const YamlMember& member : node_->members) {
    const bool is_null = member.value.kind == YamlNode::Kind::kNull;
    if (is_null && known_.contains(member.name) && !passed_.contains(member.name))
      record_.say(Fate::kNotNeeded, path_ + member.name, member.position, "no value, so the default applies");
    if (known_.contains(member.name)) continue;
    const std::string hint = nearest_hint(member.name, known);
    record_.say(Fate::kUnknown, path_ + member.name, member.position,
                fmt::format("not a setting that this command knows{}; look it up in {}'s documentation", hint,
                            record_.author()));
  }
}

Given<std::string> SettingMap::place() const {
  const std::string path = path_.substr(0, path_.find_last_not_of('.') + 1);
  return {path, path, node_ != nullptr ? node_->position : SourcePosition()};
}

}  // namespace cardcage
