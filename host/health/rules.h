// The rules of one module in force: those of [[module.health]] first, then the module's declarations.
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/config.h"
#include "host/core/result.h"
#include "host/health/rule.h"
#include "host/model/cause.h"

namespace cardcage {

// A rule as shown to operators.
struct NamedRule {
  std::string cause, reason;  // names or globs; an empty reason matches all
  std::string unit, help;     // for the declared cause; may be empty
  HealthRule rule;
  std::string origin;  // "cardcage.toml:12:3", "declared by the module", "built in"
};

class HealthRules {
 public:
  HealthRules();  // each cause has the built-in rule
  // Returns all faults of the configured rules, with their places: a cause that no declaration has, though the module
  // declares some; a rule that earlier ones leave nothing to judge; a unit other than the declared one, or a limit for
  // a cause without one; a recovery that can never happen; a reset without cage.reset.
  static std::expected<HealthRules, ConfigErrors> make(const std::vector<CauseDeclaration>& declared, bool has_reset,
                                                       const std::vector<HealthRuleConfig>& configured);

  // The first configured rule that matches both; its open fields come from the declaration. Cheap: a declared cause is
  // looked up, and only reasons are matched.
  const HealthRule& find(std::string_view cause, std::string_view reason) const;
  // False if the module declares causes, but not this one.
  bool declares(std::string_view cause) const;
  // Sorted by the order of the search. A configured rule appears once for each declared cause that it judges, since its
  // open fields differ for each.
  const std::vector<NamedRule>& all() const { return all_; }

 private:
  // Adds the rule and returns its faults.
  std::vector<std::string> add(const HealthRuleConfig& written, const std::vector<CauseDeclaration>& declared,
                               bool has_reset);

  std::vector<NamedRule> all_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> declared_;  // positions in all_ of the rules of a cause
  std::vector<NamedRule> undeclared_;  // the configured rules, for causes that are not declared
};

}  // namespace cardcage
