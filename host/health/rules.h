// The rules of one module in force: those of [[module.health]] first, then what the module declares.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/config/config.h"
#include "host/core/result.h"
#include "host/health/rule.h"
#include "host/model/cause.h"

namespace cardcage {

// A rule as operators see it.
struct NamedRule {
  std::string cause, reason;  // names or globs; an empty reason matches all
  std::string unit, help;     // of the declared cause; may be empty
  HealthRule rule;
  std::string origin;  // "cardcage.toml:12:3", "declared by the module", "built in"
};

class HealthRules {
 public:
  HealthRules() = default;  // each cause has the built-in rule
  // All that is wrong with the configured rules, with their places: a cause that no declaration has, though the module
  // declares some; a unit other than the declared one, or one for a cause without; a recovery that can never happen; a
  // reset without cage.reset.
  static std::expected<HealthRules, ConfigErrors> make(const std::vector<CauseDeclaration>& declared, bool has_reset,
                                                       const std::vector<HealthRuleConfig>& configured);

  // The first configured rule that matches both; where it decides nothing, the declaration does.
  const HealthRule& find(std::string_view cause, std::string_view reason) const;
  // False if the module declares causes, and this is none of them.
  bool declares(std::string_view cause) const;
  // In the order in which they are looked at.
  const std::vector<NamedRule>& all() const { return all_; }

 private:
  std::vector<NamedRule> all_;
};

}  // namespace cardcage
