#include <algorithm>
#include <map>

#include "host/config/resource_pattern.h"
#include "host/config/sections.h"
#include "host/core/glob.h"

namespace cardcage {
namespace {

// Remembers where each name was first used.
class FirstUse {
 public:
  // Returns the earlier position if `name` was used before. An empty name was reported already.
  const SourcePosition* before(const std::string& name, const SourcePosition& position) {
    if (name.empty()) return nullptr;
    const auto [entry, is_new] = first_.emplace(name, position);
    return is_new ? nullptr : &entry->second;
  }

 private:
  std::map<std::string, SourcePosition> first_;
};

bool takes_every_device(const Select& select) { return std::ranges::any_of(select, &SelectTable::empty); }

void check_reachable(const ModuleConfig& module, Reading& reading) {
  const ServeConfig* takes_all = nullptr;
  for (const ServeConfig& serve : module.serve) {
    if (takes_all)
      reading.error(serve.position, "module '{}': no device reaches this rule, since the rule at {} takes all of them",
                    module.name, takes_all->position.to_string());
    else if (takes_every_device(serve.select))
      takes_all = &serve;
  }
}

// True if each word that `narrow` matches is also matched by `wide`; both are names or globs with * and ?.
bool covers(const std::string& wide, const std::string& narrow) {
  const bool single_for_many = wide.find('?') != std::string::npos && narrow.find('*') != std::string::npos;
  return !single_for_many && matches_glob(wide, narrow);
}

void check_health_reachable(const ModuleConfig& module, Reading& reading) {
  for (const HealthRuleConfig& rule : module.health) {
    const auto takes = [&](const HealthRuleConfig& earlier) {
      return &earlier == &rule ||
             (covers(earlier.cause, rule.cause) &&
              (earlier.reason.empty() || (!rule.reason.empty() && covers(earlier.reason, rule.reason))));
    };
    const HealthRuleConfig& first = *std::ranges::find_if(module.health, takes);
    if (&first != &rule)
      reading.error(rule.position,
                    "module '{}': this health rule is never used, since the rule at {} decides whatever it matches",
                    module.name, first.position.to_string());
  }
}

// A resource that the operator assigns to one module must not depend on the devices of another.
void check_patterns(const std::vector<ModuleConfig>& modules, Reading& reading) {
  for (const ModuleConfig& module : modules)
    for (const ServeConfig& pattern : module.serve) {
      if (!has_attributes(pattern.resource)) continue;
      for (const ModuleConfig& other : modules)
        for (const ServeConfig& rule : other.serve)
          if (&other != &module && !has_attributes(rule.resource) && can_give(pattern.resource, rule.resource))
            reading.error(pattern.position,
                          "'{}' may give the resource '{}', which is that of module '{}' at {}; write a pattern that "
                          "gives other names",
                          pattern.resource, rule.resource, other.name, rule.position.to_string());
    }
}

}  // namespace

void check_across_modules(const std::vector<ModuleConfig>& modules, Reading& reading) {
  FirstUse names, drivers, resources;
  for (const ModuleConfig& module : modules) {
    if (const auto* first = names.before(module.name, module.position))
      reading.error(module.position, "module '{}' is configured twice, first at {}; choose another name", module.name,
                    first->to_string());
    for (const ServeConfig& serve : module.serve) {
      if (const auto* first = drivers.before(serve.driver, serve.position))
        reading.error(serve.position, "driver '{}' is served twice, first at {}; give one of the two another name",
                      serve.driver, first->to_string());
      if (const auto* first = resources.before(serve.resource, serve.position))
        reading.error(serve.position, "resource '{}' is served twice, first at {}; give one of the two another name",
                      serve.resource, first->to_string());
    }
  }
  // A select that could not be read looks like one that takes every device.
  if (reading.failed()) return;
  for (const ModuleConfig& module : modules) {
    check_reachable(module, reading);
    check_health_reachable(module, reading);
  }
  check_patterns(modules, reading);
}

}  // namespace cardcage
