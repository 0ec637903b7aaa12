#include "ctl/import/config_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace cardcage {
namespace {

const YamlMember* chosen_key(const YamlNode& document, const std::string& chosen, ImportRecord& record) {
  const YamlMember* data = document.find("data");
  if (data == nullptr || data->value.members.empty()) {
    record.error(document.position, "this ConfigMap has no data");
    return nullptr;
  }
  const auto& members = data->value.members;
  if (chosen.empty() && members.size() == 1) return &members.front();
  std::vector<std::string> keys;
  std::ranges::transform(members, std::back_inserter(keys), &YamlMember::name);
  const YamlMember* found = data->value.find(chosen);
  if (chosen.empty())
    record.error(data->position,
                 fmt::format("this ConfigMap has several keys; choose one with --config: {}", fmt::join(keys, ", ")));
  else if (found == nullptr)
    record.error(data->position, fmt::format("there is no key '{}'; choose one of: {}", chosen, fmt::join(keys, ", ")));
  return chosen.empty() ? nullptr : found;
}

}  // namespace

bool is_config_map(const YamlNode& document) {
  const YamlMember* kind = document.find("kind");
  return kind != nullptr && kind->value.text == "ConfigMap";
}

std::optional<YamlNode> document_in(const YamlNode& config_map, const std::string& chosen, ImportRecord& record) {
  const YamlMember* key = chosen_key(config_map, chosen, record);
  if (key == nullptr) return std::nullopt;
  auto inner = read_yaml(key->value.text, fmt::format("data.{}", key->name));
  if (inner) return std::move(*inner);
  record.error(inner.error().position, inner.error().message);
  return std::nullopt;
}

bool has_no_choice(const YamlNode& document, const std::string& chosen, ImportRecord& record) {
  if (!chosen.empty())
    record.error(document.position, "--config chooses a key of a ConfigMap, and this file is none; leave it out");
  return chosen.empty();
}

}  // namespace cardcage
