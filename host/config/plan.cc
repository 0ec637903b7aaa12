#include "host/config/plan.h"

#include <fmt/ranges.h>
#include <algorithm>

#include "host/config/sections.h"

namespace cardcage {
namespace {

const ModuleConfig* find(const std::vector<ModuleConfig>& modules, const std::string& name) {
  const auto entry = std::ranges::find(modules, name, &ModuleConfig::name);
  return entry == modules.end() ? nullptr : &*entry;
}

// The running module that `added` renames: the only removed one that is equal in everything but its name.
const ModuleConfig* renamed_module(const ModuleConfig& added, const Config& running, const Config& wanted) {
  const ModuleConfig* found = nullptr;
  for (const ModuleConfig& module : running.modules) {
    ModuleConfig renamed = module;
    renamed.name = added.name;
    if (find(wanted.modules, module.name) || !same_instance(renamed, added)) continue;
    if (found) return nullptr;
    found = &module;
  }
  return found;
}

void add_served(const ModuleConfig* module, std::set<std::string>& names) {
  if (!module) return;
  for (const ServeConfig& rule : module->serve) names.insert(rule.served().name);
}

std::set<ServedName> served(const Config& config) {
  std::set<ServedName> names;
  for (const ModuleConfig& module : config.modules)
    for (const ServeConfig& rule : module.serve) names.insert(rule.served());
  return names;
}

void add_modules(const Config& running, const Config& wanted, ConfigPlan& plan) {
  std::set<std::string> kept;
  for (const ModuleConfig& module : wanted.modules) {
    const ModuleConfig* before = find(running.modules, module.name);
    if (!before) before = renamed_module(module, running, wanted);
    if (!before || !kept.insert(before->name).second) {
      plan.modules.push_back({ModuleChange::Kind::kAdded, module.name, "", {}});
      continue;
    }
    if (*before == module) continue;
    const auto kind = same_instance(*before, module) ? ModuleChange::Kind::kServed : ModuleChange::Kind::kReplaced;
    plan.modules.push_back({kind, module.name, before->name, changed_module_keys(*before, module)});
  }
  for (const ModuleConfig& module : running.modules)
    if (!kept.contains(module.name))
      plan.modules.push_back({ModuleChange::Kind::kRemoved, module.name, module.name, {}});
}

PlanStep step(const ModuleChange& change) {
  const std::string keys = fmt::format("{}", fmt::join(change.keys, ", "));
  const std::string subject = "module " + change.name;
  const std::string renamed = change.before == change.name ? "" : fmt::format("previously '{}'; ", change.before);
  switch (change.kind) {
    case ModuleChange::Kind::kAdded: return {subject, PlanAction::kAdd, "", change.name};
    case ModuleChange::Kind::kRemoved:
      return {subject, PlanAction::kRemove, "drains; removed when no claim holds its devices", change.name};
    case ModuleChange::Kind::kServed:
      return {subject, PlanAction::kServe, "other rules for the same instance", change.name};
    case ModuleChange::Kind::kReplaced: {
      // The plan does not know the declarations of the module.
      const bool options_only = std::ranges::all_of(change.keys, [](const auto& key) {
        return key.starts_with("options.") || key == "health" || key == "serve";
      });
      return {subject, PlanAction::kReplace,
              fmt::format("{}new instance{}, since {} {}", renamed, options_only ? " (none for live options)" : "",
                          keys, change.keys.size() == 1 ? "differs" : "differ"),
              change.name};
    }
  }
  return {};
}

}  // namespace

ConfigPlan plan_change(const Config& running, const Config& wanted) {
  ConfigPlan plan;
  add_modules(running, wanted, plan);
  plan.settings = changed_live_keys(running, wanted);
  plan.restart = changed_restart_keys(running, wanted);
  for (const ModuleChange& change : plan.modules) {
    add_served(find(running.modules, change.before), plan.affected);
    add_served(find(wanted.modules, change.name), plan.affected);
  }
  const auto before = served(running), now = served(wanted);
  std::ranges::set_difference(now, before, std::back_inserter(plan.come));
  std::ranges::set_difference(before, now, std::back_inserter(plan.go));
  return plan;
}

Config effective_config(const Config& running, Config wanted) {
  copy_restart_sections(running, wanted);
  return wanted;
}

std::string_view to_string(PlanAction action) {
  switch (action) {
    case PlanAction::kAdd: return "add";
    case PlanAction::kRemove: return "remove";
    case PlanAction::kReplace: return "replace";
    case PlanAction::kServe: return "serve";
    case PlanAction::kSet: return "set";
    case PlanAction::kRestart: return "restart";
  }
  return "";
}

std::vector<PlanStep> steps(const ConfigPlan& plan) {
  const auto subject_of = [](const ServedName& served) { return fmt::format("{} {}", served.kind(), served.name); };
  std::vector<PlanStep> all;
  for (const ModuleChange& change : plan.modules) all.push_back(step(change));
  for (const ServedName& served : plan.come) all.push_back({subject_of(served), PlanAction::kAdd, "", ""});
  for (const ServedName& served : plan.go)
    all.push_back({subject_of(served), PlanAction::kRemove, "removed when no claim holds its devices", ""});
  for (const std::string& key : plan.settings) all.push_back({key, PlanAction::kSet, "", ""});
  for (const std::string& key : plan.restart)
    all.push_back({key, PlanAction::kRestart, "needs a restart of the daemon", ""});
  return all;
}

}  // namespace cardcage
