// cagectl health rules [MODULE]
#include "ctl/admin.h"
#include "ctl/device_health.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "host/core/duration.h"

namespace cardcage {
namespace {

namespace json = boost::json;

std::string time_text(std::int64_t milliseconds) { return format_duration(std::chrono::milliseconds(milliseconds)); }

double seconds(std::int64_t milliseconds) { return static_cast<double>(milliseconds) / 1000; }

// Returns ">= 90 Cel, clear at 85".
std::string limit_text(const admin::v1::HealthRule& rule) {
  if (!rule.has_limit()) return "";
  const admin::v1::HealthLimit& limit = rule.limit();
  const std::string text = fmt::format("{} {}", limit.below() ? "<=" : ">=", value_text(limit.limit(), rule.unit()));
  return limit.clear() == limit.limit() ? text : fmt::format("{}, clear at {}", text, limit.clear());
}

std::string severity_word(admin::v1::HealthState severity) {
  switch (severity) {
    case admin::v1::HEALTH_STATE_HEALTHY: return "ignored";
    case admin::v1::HEALTH_STATE_DEGRADED: return "degraded";
    case admin::v1::HEALTH_STATE_UNMONITORED: return "unmonitored";
    case admin::v1::HEALTH_STATE_UNKNOWN: return "unknown";
    case admin::v1::HEALTH_STATE_UNHEALTHY: return "unhealthy";
    default: return "as stated";
  }
}

std::string recovery_word(admin::v1::Recovery recovery) {
  switch (recovery) {
    case admin::v1::RECOVERY_REPORT: return "report";
    case admin::v1::RECOVERY_SILENCE: return "silence";
    case admin::v1::RECOVERY_STABLE: return "stable";
    case admin::v1::RECOVERY_OPERATOR: return "operator";
    default: return "";
  }
}

std::string recovery_text(const admin::v1::HealthRule& rule) {
  const std::string word = recovery_word(rule.recovery());
  return rule.recovery_time_ms() == 0 ? word : fmt::format("{} {}", word, time_text(rule.recovery_time_ms()));
}

std::string quarantine_text(const admin::v1::HealthRule& rule) {
  return rule.relapses() == 0 ? "" : fmt::format("{} in {}", rule.relapses(), time_text(rule.window_ms()));
}

std::string taint_rule_text(const admin::v1::TaintRule& taint) {
  return taint_text(taint.key(), taint.value(), taint.effect());
}
std::string rule_taint_text(const admin::v1::HealthRule& rule) {
  if (rule.has_taint()) return taint_rule_text(rule.taint());
  return rule.has_default_taint() ? taint_rule_text(rule.default_taint()) + " unless stated" : "as stated";
}

std::string kubelet_word(admin::v1::KubeletHealth health) {
  switch (health) {
    case admin::v1::KUBELET_HEALTH_HEALTHY: return "healthy";
    case admin::v1::KUBELET_HEALTH_UNHEALTHY: return "unhealthy";
    case admin::v1::KUBELET_HEALTH_UNKNOWN: return "unknown";
    default: return "";
  }
}

std::string remedy_text(const admin::v1::HealthRule& rule) {
  return rule.resets_per_day() == 0 ? "" : fmt::format("reset, {} a day", rule.resets_per_day());
}

json::value taint_json(bool given, const admin::v1::TaintRule& taint) {
  if (!given) return nullptr;
  return {{"effect", taint.effect()}, {"key", text_json(taint.key())}, {"value", text_json(taint.value())}};
}

json::value limit_json(const admin::v1::HealthRule& rule) {
  if (!rule.has_limit()) return nullptr;
  return {{"side", rule.limit().below() ? "below" : "above"},
          {"limit", rule.limit().limit()},
          {"clear", rule.limit().clear()}};
}

json::value rule_json(const admin::v1::HealthRule& rule) {
  const bool as_stated = rule.severity() == admin::v1::HEALTH_STATE_UNSPECIFIED;
  return {{"cause", rule.cause()},
          {"reason", text_json(rule.reason())},
          {"help", text_json(rule.help())},
          {"unit", text_json(rule.unit())},
          {"limit", limit_json(rule)},
          {"severity", as_stated ? json::value() : json::value(severity_word(rule.severity()))},
          {"holdDownSeconds", seconds(rule.hold_down_ms())},
          {"recovery", recovery_word(rule.recovery())},
          {"recoverySeconds", seconds(rule.recovery_time_ms())},
          {"relapses", rule.relapses()},
          {"windowSeconds", seconds(rule.window_ms())},
          {"taint", taint_json(rule.has_taint(), rule.taint())},
          {"defaultTaint", taint_json(rule.has_default_taint(), rule.default_taint())},
          {"kubelet", text_json(kubelet_word(rule.kubelet()))},
          {"resetsPerDay", rule.resets_per_day()},
          {"origin", rule.origin()}};
}

json::value module_rules_json(const admin::v1::ModuleHealthRules& module) {
  json::array rules;
  for (const auto& rule : module.rules()) rules.push_back(rule_json(rule));
  return {{"module", module.module()}, {"refused", text_json(module.refused())}, {"rules", std::move(rules)}};
}

// Prints each error of the configuration on a line of its own.
void print_refusal(const admin::v1::ModuleHealthRules& module) {
  if (module.refused().empty()) return;
  fmt::print("warning: the rules of the configuration for module '{}' are refused, and the ones below are in force:\n",
             printable(module.module()));
  std::string_view text = module.refused();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    fmt::print("  {}\n", printable(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void print_rules(const admin::v1::ListHealthRulesResponse& list) {
  for (const auto& module : list.modules()) print_refusal(module);
  Table table({"MODULE", "CAUSE", "REASON", "LIMIT", "HOLD-DOWN", "SEVERITY", "RECOVERY", "QUARANTINE", "TAINT",
               "KUBELET", "REMEDY", "ORIGIN"});
  for (const auto& module : list.modules())
    for (const auto& rule : module.rules())
      table.row({module.module(), rule.cause(), rule.reason().empty() ? "*" : rule.reason(), limit_text(rule),
                 rule.hold_down_ms() == 0 ? "" : time_text(rule.hold_down_ms()), severity_word(rule.severity()),
                 recovery_text(rule), quarantine_text(rule), rule_taint_text(rule), kubelet_word(rule.kubelet()),
                 remedy_text(rule), rule.origin()});
  table.print();
}

Status show_rules(const Session& session, const std::string& module) {
  admin::v1::ListHealthRulesRequest request;
  request.set_module(module);
  const auto list = ask(session.socket, &admin::v1::Admin::Stub::ListHealthRules, request);
  if (!list) return std::unexpected(list.error());
  if (session.json) {
    json::array modules;
    for (const auto& one : list->modules()) modules.push_back(module_rules_json(one));
    print_json(modules);
  } else if (list->modules().empty()) {
    fmt::print("no modules: the configuration has no [[module]]\n");
  } else {
    print_rules(*list);
  }
  return {};
}

}  // namespace

void add_health_rules(CLI::App& health, Session& session) {
  auto* command =
      health.add_subcommand("rules", "show by which rules the health of devices is judged, and whose they are");
  auto module = std::make_shared<std::string>();
  command->add_option("MODULE", *module, "only the rules for this module");
  command->callback([&session, module] { session.outcome = show_rules(session, *module); });
}

}  // namespace cardcage
