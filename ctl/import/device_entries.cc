#include "ctl/import/device_entries.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/config/config.h"
#include "host/core/ascii.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxEntryName = 40;

}  // namespace

bool is_pattern(std::string_view path) { return path.find_first_of("*?[") != std::string_view::npos; }

std::string DeviceEntries::add(DeviceEntry entry, const std::string& from) {
  entry.name = free_name(entry.name);
  std::vector<TomlLine> lines{{fmt::format("name = {}", toml_string(entry.name)), from},
                              {fmt::format("paths = {}", toml_list(entry.paths, toml_string)), ""}};
  if (entry.together) lines.push_back({"together = true", ""});
  for (std::string& line : entry.more) lines.push_back({std::move(line), ""});
  entries_.push_back({"[[module.options.devices]]", std::move(lines)});
  return entry.name;
}

void DeviceEntries::serve(const std::string& resource, const std::vector<std::string>& kinds, std::int64_t replicas,
                          const std::string& from) {
  std::vector<TomlLine> lines{{"api = \"device-plugin\"", ""},
                              {fmt::format("resource = {}", toml_string(resource)), from}};
  lines.push_back({kinds.size() == 1 ? fmt::format("select = {{ kind = {} }}", toml_string(kinds.front()))
                                     : fmt::format("select = {{ kind = {} }}", toml_list(kinds, toml_string)),
                   ""});
  if (replicas > 1) lines.push_back({fmt::format("replicas = {}", replicas), ""});
  rules_.push_back({"[[module.serve]]", std::move(lines)});
}

ImportDraft DeviceEntries::finish(std::string form) {
  ImportDraft draft{std::move(form), {{"[node]", {{"name = \"$NODE_NAME\"", ""}}}}};
  if (rules_.empty()) return draft;
  draft.tables.push_back({"[[module]]", {{"name = \"generic\"", ""}, {"path = \"libcardcage_generic.so\"", ""}}});
  std::ranges::move(entries_, std::back_inserter(draft.tables));
  std::ranges::move(rules_, std::back_inserter(draft.tables));
  return draft;
}

std::string DeviceEntries::free_name(std::string_view wanted) {
  std::string label;
  for (const char c : wanted) label += is_alphanumeric(c) ? to_lower(c) : '-';
  label = label.substr(0, kMaxEntryName - 4);  // room for a number
  const auto first = label.find_first_not_of('-');
  label = first == std::string::npos ? "devices" : label.substr(first, label.find_last_not_of('-') - first + 1);
  const int uses = ++names_[label];
  return uses == 1 ? label : fmt::format("{}-{}", label, uses);
}

std::int64_t checked_count(const std::optional<Given<std::int64_t>>& given, ImportRecord& record) {
  if (!given) return 1;
  if (given->value < 1 || given->value > std::int64_t{kMaxReplicas}) {
    record.error(*given, fmt::format("{} is not a number from 1 to {}", given->value, kMaxReplicas));
    return 1;
  }
  record.say(Fate::kTranslated, *given);
  return given->value;
}

}  // namespace cardcage
