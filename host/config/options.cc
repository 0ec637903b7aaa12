#include "host/config/options.h"

#include <algorithm>
#include <tuple>

#include "host/core/nearest.h"

namespace cardcage {

std::expected<OptionValues, ConfigErrors> check_options(const ModuleConfig& config,
                                                        const std::vector<OptionDeclaration>& declarations) {
  OptionValues values;
  ConfigErrors errors;
  std::vector<std::string> names;
  for (const OptionDeclaration& declaration : declarations) {
    names.push_back(declaration.name);
    const auto written = config.options.find(declaration.name);
    if (written == config.options.end()) {
      if (declaration.required)
        errors.entries.push_back({config.position, fmt::format("module '{}' needs option '{}' ({})", config.name,
                                                               declaration.name, declaration.help)});
      else if (auto value = default_value(declaration))
        values.entries[declaration.name] = {std::move(*value), false};
      continue;
    }
    const bool has_tables = declaration.type == OptionType::kList && written->second.has_tables;
    auto value = has_tables && !declaration.objects
                     ? fail(Code::kInvalidArgument, "is a list with tables, expected a list of strings")
                     : check_value(declaration, written->second.value);
    if (value)
      values.entries[declaration.name] = {std::move(*value), true};
    else
      errors.entries.push_back({written->second.position, fmt::format("option '{}' of module '{}' {}", declaration.name,
                                                                      config.name, value.error().message)});
  }
  for (const auto& [name, written] : config.options)
    if (std::ranges::find(names, name) == names.end())
      errors.entries.push_back({written.position, fmt::format("module '{}' has no option '{}'{}", config.name, name,
                                                              nearest_hint(name, names))});
  std::ranges::sort(errors.entries, {}, [](const ConfigErrors::Entry& entry) {
    return std::tie(entry.position.line, entry.position.column, entry.message);
  });
  if (!errors.entries.empty()) return std::unexpected(std::move(errors));
  return values;
}

Result<OptionValues> checked_options(const ModuleConfig& config, const std::vector<OptionDeclaration>& declarations) {
  auto options = check_options(config, declarations);
  if (options) return std::move(*options);
  return std::unexpected(options.error().to_error());
}

bool differs_in_live_options_only(const ModuleConfig& before, const ModuleConfig& after,
                                  const std::vector<OptionDeclaration>& declarations) {
  ModuleConfig other = after;
  for (const OptionDeclaration& declaration : declarations) {
    if (!declaration.live) continue;
    other.options.erase(declaration.name);
    if (const auto value = before.options.find(declaration.name); value != before.options.end())
      other.options.insert(*value);
  }
  return !same_instance(before, after) && same_instance(before, other);
}

}  // namespace cardcage
