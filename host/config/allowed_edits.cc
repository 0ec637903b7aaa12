// Reads the keys that limit the edits of a module, and determines the limits in force.
#include "host/config/names.h"
#include "host/config/sections.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

constexpr std::int64_t kMaxGroup = 0xffff'fffe;

Status check_mount(std::string_view pattern) {
  if (pattern.ends_with(":rw")) pattern.remove_suffix(3);
  return check_path_pattern(pattern);
}

Status check_interface(std::string_view pattern) {
  if (is_interface_name(pattern)) return {};
  return fail(Code::kInvalidArgument, "'{}' is not the name of a network interface; write one like \"ens1f0v*\"",
              pattern);
}

Status check_variable(std::string_view name) {
  if (is_env_name(name)) return {};
  return fail(Code::kInvalidArgument, "'{}' is not the name of an environment variable", name);
}

AllowedEdits::Texts read_texts(TableReader& table, std::string_view key, Status (*check)(std::string_view)) {
  AllowedEdits::Texts texts;
  if (table.has(key)) texts.emplace();
  for (auto& text : table.strings(key)) {
    if (const auto valid = check(text.value); !valid)
      table.refuse(key, text.position, valid.error().message);
    else
      texts->push_back(std::move(text.value));
  }
  return texts;
}

std::optional<std::vector<std::uint32_t>> read_groups(TableReader& table) {
  std::optional<std::vector<std::uint32_t>> groups;
  if (table.has("groups")) groups.emplace();
  for (const auto& group : table.integers("groups")) {
    if (group.value < 1 || group.value > kMaxGroup)
      table.refuse("groups", group.position,
                   fmt::format("{} is out of bounds; write the number of a group, 1 to {}", group.value, kMaxGroup));
    else
      groups->push_back(static_cast<std::uint32_t>(group.value));
  }
  return groups;
}

}  // namespace

AllowedEdits read_allowed_edits(TableReader& table) {
  AllowedEdits allows;
  allows.device_nodes = read_texts(table, "device_nodes", check_path_pattern);
  allows.mounts = read_texts(table, "mounts", check_mount);
  allows.hooks = read_texts(table, "hooks", check_path_pattern);
  allows.net_devices = read_texts(table, "net_devices", check_interface);
  allows.groups = read_groups(table);
  allows.env = read_texts(table, "env", check_variable);
  return allows;
}

AllowedEdits allowed_edits(const ModuleConfig& module) {
  AllowedEdits allows = module.allows;
  if (!module.process.confines()) return allows;
  for (auto* list : {&allows.device_nodes, &allows.mounts, &allows.hooks, &allows.net_devices, &allows.env})
    if (!*list) list->emplace();
  if (!allows.groups) allows.groups.emplace();
  return allows;
}

}  // namespace cardcage
