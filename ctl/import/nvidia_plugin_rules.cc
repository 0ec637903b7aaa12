#include "ctl/import/nvidia_plugin_rules.h"

#include <algorithm>

#include "host/config/names.h"

namespace cardcage {
namespace {

constexpr std::string_view kPrefix = "nvidia.com/";
constexpr std::string_view kMigPrefix = "nvidia.com/mig-";
constexpr std::string_view kTemplate = "nvidia.com/mig-{profile}";
constexpr std::string_view kSuffix = ".shared";

std::string prefixed_name(const std::string& name) { return name.contains('/') ? name : std::string(kPrefix) + name; }

// Converts NVIDIA's pattern, which may match anywhere in the text and in which only '*' is special.
std::string glob_of(std::string_view pattern) {
  if (pattern.find_first_not_of('*') == std::string_view::npos) return {};
  std::string glob = "*";
  for (const char c : pattern) {
    if (c == '*' && glob.back() == '*') continue;
    if (c == '?' || c == '[' || c == ']' || c == '\\') glob += '\\';
    glob += c;
  }
  return glob.back() == '*' ? glob : glob + "*";
}

// Returns "1g.10gb+me" for "nvidia.com/mig-1g.10gb.me": a resource name has no '+'.
std::string profile_of(std::string_view resource) {
  std::string profile(resource.substr(kMigPrefix.size()));
  const std::size_t memory = profile.find("gb.");
  if (memory != std::string::npos) profile[memory + 2] = '+';
  return profile;
}

std::string select_of(const PluginRule& rule) {
  std::vector<std::string> conditions;
  if (!rule.kind.empty()) conditions.push_back(fmt::format("kind = {}", toml_string(rule.kind)));
  if (!rule.pattern.empty())
    conditions.push_back(fmt::format("attributes.{} = {}", rule.attribute, toml_string(rule.pattern)));
  return fmt::format("select = {{ {} }}", fmt::join(conditions, ", "));
}

}  // namespace

std::vector<PluginRule>::iterator PluginRules::find(const std::string& resource) {
  return std::ranges::find(rules_, resource, &PluginRule::resource);
}

bool PluginRules::take_all(const std::string& kind) const {
  return std::ranges::any_of(rules_, [&](const PluginRule& rule) { return rule.pattern.empty() && rule.kind == kind; });
}

void PluginRules::add(PluginRule rule, const Given<std::string>& place) {
  const bool is_reached = rule.kind.empty() ? !take_all("gpu") || !take_all("mig") : !take_all(rule.kind);
  if (!is_reached) return;
  const auto earlier = find(rule.resource);
  if (earlier == rules_.end()) return rules_.push_back(std::move(rule));
  const bool takes_more = rule.pattern.empty() && (rule.kind.empty() || rule.kind == earlier->kind);
  if (takes_more && earlier + 1 == rules_.end())
    *earlier = std::move(rule);
  else
    record_.say(
        Fate::kNoCounterpart, place,
        fmt::format("another rule offers '{}' already, and one rule names a resource; choose another name, or one "
                    "pattern for both",
                    rule.resource));
}

void PluginRules::add_patterns(std::vector<SettingMap> entries, const std::string& kind, const std::string& attribute) {
  for (SettingMap& entry : entries) {
    const GivenText pattern = entry.text("pattern"), name = entry.text("name");
    entry.finish();
    if (!pattern || !name) {
      if (!record_.failed()) record_.error(entry.place(), "pattern and name are required; write both");
      continue;
    }
    const std::string resource = prefixed_name(name->value);
    if (const auto valid = check_resource_name(resource); !valid) {
      record_.error(*name, valid.error().message);
      continue;
    }
    record_.say(Fate::kTranslated, *pattern);
    record_.say(Fate::kTranslated, *name);
    add({.resource = resource,
         .from = name->path,
         .kind = kind,
         .attribute = attribute,
         .pattern = glob_of(pattern->value)},
        *name);
  }
}

void PluginRules::add_strategy(const Given<std::string>& strategy, std::vector<SettingMap> gpus,
                               std::vector<SettingMap> migs) {
  const std::string whole = std::string(kPrefix) + "gpu";
  if (strategy.value == "single") {
    add_patterns(std::move(migs), "mig", "profile");
    add_patterns(std::move(gpus), "gpu", "productName");
    // A node without MIG offers its GPUs under the same name.
    add({.resource = whole, .from = strategy.path}, strategy);
    record_.say(Fate::kNote, strategy,
                "NVIDIA's device plugin refuses a node whose MIG devices differ; Cardcage offers all of them, and GPUs "
                "without MIG, as nvidia.com/gpu");
    return;
  }
  add_patterns(std::move(gpus), "gpu", "productName");
  add({.resource = whole, .from = strategy.path, .kind = "gpu"}, strategy);
  if (strategy.value == "none") {
    for (const SettingMap& entry : migs)
      record_.say(Fate::kNotNeeded, entry.place(), "no effect with migStrategy none");
    return;
  }
  add_patterns(std::move(migs), "mig", "profile");
  add({.resource = std::string(kTemplate), .from = strategy.path, .kind = "mig"}, strategy);
}

PluginRule* PluginRules::rule_to_share(const Given<std::string>& name) {
  const std::string resource = prefixed_name(name.value);
  if (const auto rule = std::ranges::find(rules_, resource, &PluginRule::shared_name); rule != rules_.end())
    return &*rule;
  if (const auto rule = find(resource); rule != rules_.end()) return &*rule;
  const auto every_profile = find(std::string(kTemplate));
  if (every_profile == rules_.end() || !resource.starts_with(kMigPrefix)) return nullptr;
  return &*rules_.insert(every_profile, {.resource = resource,
                                         .from = name.path,
                                         .kind = "mig",
                                         .attribute = "profile",
                                         .pattern = profile_of(resource)});
}

void PluginRules::rename(PluginRule& rule, const Given<std::string>& to, const std::string& resource) {
  if (resource == rule.resource) return;
  if (const auto valid = check_resource_name(resource); !valid) return record_.error(to, valid.error().message);
  if (find(resource) != rules_.end())
    return record_.say(Fate::kNoCounterpart, to,
                       fmt::format("another rule offers '{}' already; choose another name", resource));
  rule.resource = resource;
  rule.from = to.path;
}

void PluginRules::share(SettingMap entry, const GivenBool& rename_all, const GivenBool& fails) {
  const GivenText name = entry.text("name"), other_name = entry.text("rename");
  const auto replicas = entry.integer("replicas");
  const GivenNode devices = entry.any("devices");
  entry.finish();
  if (!name || !replicas) {
    if (!record_.failed()) record_.error(entry.place(), "name and replicas are required; write both");
    return;
  }
  if (replicas->value < 2)
    return record_.error(*replicas,
                         fmt::format("{} is less than 2; write 2 or more, or remove the entry for devices that "
                                     "are not shared",
                                     replicas->value));
  if (const auto valid = check_resource_name(prefixed_name(name->value)); !valid)
    return record_.error(*name, valid.error().message);
  PluginRule* rule = rule_to_share(*name);
  if (rule == nullptr)
    return record_.say(Fate::kNotNeeded, entry.place(),
                       fmt::format("shares '{}', which this migStrategy does not offer", prefixed_name(name->value)));
  if (rule->replicas > 1)
    return record_.say(Fate::kNoCounterpart, entry.place(),
                       "another entry shares this resource; all devices of a resource have the same replicas");
  record_.say(Fate::kTranslated, *name);
  record_.say(Fate::kTranslated, *replicas);
  if (replicas->value > kMaxReplicas)
    record_.say(Fate::kNoCounterpart, *replicas,
                fmt::format("Cardcage shares a device among {} containers at most, and so does this configuration",
                            kMaxReplicas));
  rule->replicas = static_cast<std::uint32_t>(std::min<std::int64_t>(replicas->value, kMaxReplicas));
  rule->replicas_from = replicas->path;
  rule->shared_name = rule->resource;
  if (fails && fails->value) rule->fails_from = fails->path;
  if (devices && devices->value->text != "all")
    record_.say(
        Fate::kNoCounterpart, *devices,
        "replicas are those of every device of a resource; for others write a rule of its own, with select by id "
        "or pci");
  else if (devices)
    record_.say(Fate::kTranslated, *devices);
  if (other_name) {
    record_.say(Fate::kTranslated, *other_name);
    record_.say(Fate::kNote, *other_name,
                "many versions of NVIDIA's device plugin ignore it; check by which name your pods ask");
    rename(*rule, *other_name, prefixed_name(other_name->value));
  } else if (rename_all && rename_all->value) {
    rename(*rule, {name->value, rename_all->path, rename_all->position}, rule->resource + std::string(kSuffix));
  }
}

std::vector<std::string> PluginRules::replicas_for_labels() const {
  std::vector<std::string> entries;
  for (const PluginRule& rule : rules_) {
    if (rule.replicas < 2 || !rule.shared_name.starts_with(kPrefix)) continue;
    entries.push_back(toml_string(fmt::format("{}={}{}", rule.shared_name.substr(kPrefix.size()), rule.replicas,
                                              rule.resource == rule.shared_name ? "" : " renamed")));
  }
  return entries;
}

std::vector<std::vector<TomlLine>> PluginRules::lines(const GivenText& delivery, const GivenText& placement) const {
  std::vector<std::vector<TomlLine>> all;
  for (const PluginRule& rule : rules_) {
    auto& lines = all.emplace_back();
    lines.push_back({"api = \"device-plugin\"", ""});
    lines.push_back({fmt::format("resource = {}", toml_string(rule.resource)), rule.from});
    if (!rule.kind.empty()) lines.push_back({select_of(rule), ""});
    if (delivery) lines.push_back({fmt::format("deliver = {}", toml_string(delivery->value)), delivery->path});
    if (rule.replicas > 1) lines.push_back({fmt::format("replicas = {}", rule.replicas), rule.replicas_from});
    if (!rule.fails_from.empty()) lines.push_back({"fail_requests_greater_than_one = true", rule.fails_from});
    const bool shared = rule.replicas > 1 || rule.kind != "gpu";
    if (placement && shared)
      lines.push_back({fmt::format("placement = {}", toml_string(placement->value)), placement->path});
    else if (rule.replicas > 1)
      lines.push_back({"placement = \"spread\"", "NVIDIA's default: the device that the fewest containers use"});
  }
  return all;
}

}  // namespace cardcage
