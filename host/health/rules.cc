#include "host/health/rules.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "host/core/glob.h"
#include "host/core/nearest.h"

namespace cardcage {
namespace {

NamedRule built_in() { return {.cause = "*", .rule = {}, .origin = "built in"}; }

NamedRule declared_rule(const CauseDeclaration& declared) {
  NamedRule named{
      .cause = declared.name, .unit = declared.unit, .help = declared.help, .origin = "declared by the module"};
  named.rule.limit = declared.limit;
  named.rule.severity = declared.severity;
  named.rule.hold_down = declared.hold_down;
  named.rule.recovery = declared.recovery;
  named.rule.recovery_time = declared.recovery_time;
  named.rule.relapses = declared.relapses;
  named.rule.window = declared.window;
  named.rule.default_taint = declared.taint;
  return named;
}

// Takes fields that the configured rule leaves open from `base`.
NamedRule configured_rule(const HealthRuleConfig& written, NamedRule base) {
  base.reason = written.reason;
  base.origin = written.position.to_string();
  HealthRule& rule = base.rule;
  if (written.limit) rule.limit = written.limit->limit;
  if (written.severity) rule.severity = written.severity;
  if (written.hold_down) rule.hold_down = *written.hold_down;
  if (written.recovery) rule.recovery = *written.recovery;
  if (written.recovery_time) rule.recovery_time = *written.recovery_time;
  if (rule.recovery == Recovery::kOperator) rule.recovery_time = Duration(0);
  if (written.relapses) rule.relapses = *written.relapses;
  if (written.window) rule.window = *written.window;
  if (rule.relapses == 0) rule.window = Duration(0);
  if (written.taint) rule.taint = written.taint;
  if (written.kubelet) rule.kubelet = written.kubelet;
  if (written.resets_per_day) rule.resets_per_day = *written.resets_per_day;
  // A statement that was made for the value alone has no state to copy.
  if (rule.limit && !rule.severity) rule.severity = HealthState::kUnhealthy;
  return base;
}

std::optional<std::string> fault_of_limit(const HealthRuleConfig& written, const CauseDeclaration& declared) {
  if (!written.limit) return std::nullopt;
  const std::string_view key = written.limit->limit.side == ValueLimit::Side::kAbove ? "above" : "below";
  if (declared.unit.empty())
    return fmt::format("cause '{}' has no measured value, because the module declares no unit for it; remove '{}'",
                       declared.name, key);
  if (!written.limit->unit.empty() && written.limit->unit != declared.unit)
    return fmt::format("cause '{}' is measured in '{}', not in '{}'; write '{}' in '{}'", declared.name, declared.unit,
                       written.limit->unit, key, declared.unit);
  return std::nullopt;
}

std::optional<std::string> fault_of_recovery(const HealthRuleConfig& written, const HealthRule& merged,
                                             const CauseDeclaration& declared) {
  if (merged.recovery == Recovery::kStable && declared.unit.empty())
    return fmt::format(
        "cause '{}' has no measured value that could be stable, because the module declares no unit for it; write "
        "recovery = \"silence\" or \"operator\"",
        declared.name);
  if (merged.recovery == Recovery::kReport && declared.event)
    return fmt::format(
        "cause '{}' is an event, so the module never reports that it is over; write recovery = \"silence\" or "
        "\"operator\"",
        declared.name);
  const bool needs_time = merged.recovery == Recovery::kSilence || merged.recovery == Recovery::kStable;
  if (!needs_time || merged.recovery_time > Duration(0)) return std::nullopt;
  const std::string_view word = merged.recovery == Recovery::kSilence ? "silence" : "stable";
  if (written.recovery_time)
    return fmt::format(
        "cause '{}' would be over at once: recovery_time is 0s, and the module declares recovery \"{}\" "
        "for it; write a longer time, like \"10m\"",
        declared.name, word);
  return fmt::format(
      "recovery \"{}\" needs a time, and the module declares none for cause '{}'; write recovery_time, like \"10m\"",
      word, declared.name);
}

// The reasons why a configured rule cannot judge this cause.
std::vector<std::string> faults(const HealthRuleConfig& written, const HealthRule& merged,
                                const CauseDeclaration& declared, bool has_reset) {
  std::vector<std::string> found;
  if (auto fault = fault_of_limit(written, declared)) found.push_back(std::move(*fault));
  if (auto fault = fault_of_recovery(written, merged, declared)) found.push_back(std::move(*fault));
  if (merged.resets_per_day > 0 && !has_reset)
    found.emplace_back("the module cannot reset devices, because it has no cage.reset; remove 'remedy'");
  return found;
}

std::string unknown_cause(const HealthRuleConfig& written, const std::vector<CauseDeclaration>& declared) {
  std::vector<std::string> names;
  for (const CauseDeclaration& cause : declared) names.push_back(cause.name);
  const std::string hint = nearest_hint(written.cause, names);
  return fmt::format("the module declares no cause '{}'{}", written.cause,
                     hint.empty() ? fmt::format("; it declares '{}'", fmt::join(names, "', '")) : hint);
}

}  // namespace

HealthRules::HealthRules() : all_{built_in()} {}

std::expected<HealthRules, ConfigErrors> HealthRules::make(const std::vector<CauseDeclaration>& declared,
                                                           bool has_reset,
                                                           const std::vector<HealthRuleConfig>& configured) {
  HealthRules rules;
  rules.all_.clear();
  for (const CauseDeclaration& cause : declared) rules.declared_[cause.name];
  ConfigErrors errors;
  for (const HealthRuleConfig& written : configured)
    for (std::string& message : rules.add(written, declared, has_reset))
      errors.entries.push_back(
          {written.position, fmt::format("health rule for '{}': {}", written.cause, std::move(message))});
  if (!errors.entries.empty()) return std::unexpected(std::move(errors));
  for (const CauseDeclaration& cause : declared) {
    rules.declared_[cause.name].push_back(rules.all_.size());
    rules.all_.push_back(declared_rule(cause));
  }
  if (declared.empty()) rules.all_ = rules.undeclared_;
  rules.all_.push_back(built_in());
  return rules;
}

std::vector<std::string> HealthRules::add(const HealthRuleConfig& written,
                                          const std::vector<CauseDeclaration>& declared, bool has_reset) {
  const CauseDeclaration nothing{.name = written.cause};
  NamedRule general = configured_rule(written, built_in());
  general.cause = written.cause;
  auto general_faults = faults(written, general.rule, nothing, has_reset);
  // An undeclared cause has no value, so a rule about values does not judge it.
  if (general_faults.empty()) undeclared_.push_back(std::move(general));
  if (declared.empty()) return general_faults;

  const NamedRule* taken_by = nullptr;
  bool matches = false, reached = false;
  for (const CauseDeclaration& cause : declared) {
    if (!matches_glob(written.cause, cause.name)) continue;
    matches = true;
    auto& indices = declared_[cause.name];
    if (!indices.empty() && all_[indices.back()].reason.empty()) {
      taken_by = &all_[indices.back()];
      continue;
    }
    reached = true;
    NamedRule named = configured_rule(written, declared_rule(cause));
    if (auto found = faults(written, named.rule, cause, has_reset); !found.empty()) return found;
    indices.push_back(all_.size());
    all_.push_back(std::move(named));
  }
  if (!matches) return {unknown_cause(written, declared)};
  if (!reached)
    return {
        fmt::format("it is never used, because the rule at {} already decides '{}'; remove one of the two, or put "
                    "this one first",
                    taken_by->origin, taken_by->cause)};
  return {};
}

const HealthRule& HealthRules::find(std::string_view cause, std::string_view reason) const {
  static const HealthRule kBuiltIn;
  const std::string reason_text(reason);
  const auto takes_reason = [&](const NamedRule& rule) {
    return rule.reason.empty() || matches_glob(rule.reason, reason_text);
  };
  if (const auto entry = declared_.find(cause); entry != declared_.end()) {
    for (const std::size_t index : entry->second)
      if (takes_reason(all_[index])) return all_[index].rule;
    return kBuiltIn;
  }
  const std::string cause_text(cause);
  for (const NamedRule& rule : undeclared_)
    if (matches_glob(rule.cause, cause_text) && takes_reason(rule)) return rule.rule;
  return kBuiltIn;
}

bool HealthRules::declares(std::string_view cause) const { return declared_.empty() || declared_.contains(cause); }

}  // namespace cardcage
