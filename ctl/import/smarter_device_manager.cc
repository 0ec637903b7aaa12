#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "ctl/import/config_map.h"
#include "ctl/import/device_entries.h"
#include "ctl/import/device_nodes.h"

namespace cardcage {
namespace {

// Converts a regular expression for a path below /dev to a pattern. Returns nothing if it has no such form.
std::optional<std::string> pattern_of(std::string_view expression) {
  std::string pattern = expression.starts_with('^') ? "" : "*";
  if (pattern.empty()) expression.remove_prefix(1);
  const bool is_whole = expression.ends_with('$') && !expression.ends_with("\\$");
  if (is_whole) expression.remove_suffix(1);
  for (std::size_t i = 0; i < expression.size();) {
    std::string one(1, expression[i]);
    if (expression[i] == '[') {
      const std::size_t end = expression.find(']', i);
      if (end == std::string_view::npos) return std::nullopt;
      one = expression.substr(i, end - i + 1);
      if (one.starts_with("[^")) one[1] = '!';
    } else if (expression[i] == '\\') {
      one = expression.substr(i, 2);
    } else if (expression[i] == '.') {
      one = "?";
    }
    i += expression[i] == '.' ? 1 : one.size();
    if (one == "\\d") one = "[0-9]";
    if (one.starts_with('\\')) one.erase(0, 1);
    if (one.empty() || std::string_view("(){}|*+^$").find(one) != std::string_view::npos) return std::nullopt;
    const char repeat = i < expression.size() ? expression[i] : '\0';
    if (repeat == '?' || repeat == '{') return std::nullopt;
    const bool is_repeated = repeat == '*' || repeat == '+';
    if (is_repeated && one.front() != '[' && one != "?") return std::nullopt;
    if (is_repeated) ++i;
    pattern += is_repeated && one == "?" && repeat == '*' ? "*" : one + (is_repeated ? "*" : "");
  }
  return is_whole ? pattern : pattern + "*";
}

// Folders whose nodes belong together.
constexpr std::array<std::string_view, 4> kFolders{"snd", "dri", "input", "infiniband"};

// The wildcard entries of smarter-device-manager have a resource for each node; one rule can give these names.
class SmarterDevices {
 public:
  explicit SmarterDevices(DeviceEntries& draft) : draft_(draft) {}

  void add(SettingMap device) {
    ImportRecord& record = device.record();
    const GivenText match = device.text("devicematch");
    const std::int64_t count = checked_count(device.integer("nummaxdevices"), record);
    device.finish();
    if (!match) return record.error(device.place(), "an entry needs a devicematch; write one");
    const auto pattern = pattern_of(match->value);
    if (!pattern || match->value == "nvidia-gpu")
      return record.say(
          Fate::kNoCounterpart, *match,
          pattern ? "the NVIDIA module serves GPUs"
                  : fmt::format("'{}' cannot be written as a pattern of paths; list the paths", match->value));
    if (std::ranges::find(kFolders, *pattern) != kFolders.end()) {
      const std::string name =
          draft_.add({.name = *pattern, .paths = {"/dev/" + *pattern + "/*"}, .together = true}, match->path);
      record.say(Fate::kTranslated, *match);
      return draft_.serve("smarter-devices/" + *pattern, {name}, count, match->path);
    }
    const std::string name = draft_.add(
        {.name = pattern->substr(0, pattern->find_first_of("*?[")), .paths = {"/dev/" + *pattern}}, match->path);
    if (!is_pattern(*pattern)) {
      std::string file = *pattern;
      std::ranges::replace(file, '/', '_');
      record.say(Fate::kTranslated, *match);
      return draft_.serve("smarter-devices/" + file, {name}, count, match->path);
    }
    wild_[count].push_back({name, *match});
  }

  void finish(ImportRecord& record) {
    bool has_pattern = false;
    for (auto& [count, entries] : wild_) {
      std::vector<std::string> kinds;
      for (const auto& [name, match] : entries) kinds.push_back(name);
      if (!has_pattern) {
        for (const auto& [name, match] : entries) record.say(Fate::kTranslated, match);
        draft_.serve("smarter-devices/{file}", kinds, count, entries.front().second.path);
      } else {
        for (const auto& [name, match] : entries) {
          record.say(Fate::kNote, match,
                     fmt::format("its nodes become one resource, 'smarter-devices/{}': only entries with the same "
                                 "nummaxdevices can have a resource per node; change the requests of its pods",
                                 name));
          draft_.serve("smarter-devices/" + name, {name}, count, match.path);
        }
      }
      has_pattern = true;
    }
  }

 private:
  DeviceEntries& draft_;
  std::map<std::int64_t, std::vector<std::pair<std::string, Given<std::string>>>> wild_;  // by count
};

}  // namespace

ImportDraft import_smarter_device_manager(const YamlNode& document, const std::string& chosen, ImportRecord& record) {
  if (is_config_map(document)) {
    const auto inner = document_in(document, chosen, record);
    return inner ? import_smarter_device_manager(*inner, "", record) : ImportDraft();
  }
  if (document.kind != YamlNode::Kind::kList) {
    record.error(document.position,
                 "this file is not a list of devicematch and nummaxdevices; import conf.yaml, or the "
                 "ConfigMap with it");
    return {};
  }
  if (!has_no_choice(document, chosen, record)) return {};
  DeviceEntries draft;
  SmarterDevices devices(draft);
  for (std::size_t i = 0; i < document.items.size(); ++i)
    devices.add(SettingMap(record, &document.items[i], fmt::format("[{}].", i)));
  devices.finish(record);
  return draft.finish("a configuration of smarter-device-manager");
}

}  // namespace cardcage
