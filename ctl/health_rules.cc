// cagectl health rules [MODULE]
#include "ctl/admin.h"
#include "ctl/device_health.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "host/core/duration.h"

namespace cardcage {
namespace {

std::string time_text(double seconds) {
  return format_duration(std::chrono::round<std::chrono::milliseconds>(std::chrono::duration<double>(seconds)));
}

// Returns ">= 90 Cel, clear at 85".
std::string limit_text(const admin::v1::HealthRule& rule) {
  if (!rule.has_limit()) return "";
  const admin::v1::HealthLimit& limit = rule.limit();
  const std::string text =
      fmt::format("{} {}", limit.side() == "below" ? "<=" : ">=", value_text(limit.limit(), rule.unit()));
  return limit.clear() == limit.limit() ? text : fmt::format("{}, clear at {}", text, limit.clear());
}

std::string recovery_text(const admin::v1::HealthRule& rule) {
  return rule.recovery_seconds() == 0 ? rule.recovery()
                                      : fmt::format("{} {}", rule.recovery(), time_text(rule.recovery_seconds()));
}

std::string quarantine_text(const admin::v1::HealthRule& rule) {
  return rule.relapses() == 0 ? "" : fmt::format("{} in {}", rule.relapses(), time_text(rule.window_seconds()));
}

std::string taint_rule_text(const admin::v1::TaintRule& taint) {
  return taint_text(taint.key(), taint.value(), taint.effect());
}
std::string rule_taint_text(const admin::v1::HealthRule& rule) {
  if (rule.has_taint()) return taint_rule_text(rule.taint());
  return rule.has_default_taint() ? taint_rule_text(rule.default_taint()) + " unless stated" : "as stated";
}

std::string remedy_text(const admin::v1::HealthRule& rule) {
  return rule.resets_per_day() == 0 ? "" : fmt::format("reset, {} a day", rule.resets_per_day());
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
                 rule.hold_down_seconds() == 0 ? "" : time_text(rule.hold_down_seconds()),
                 rule.severity().empty() ? "as stated" : rule.severity(), recovery_text(rule), quarantine_text(rule),
                 rule_taint_text(rule), rule.kubelet(), remedy_text(rule), rule.origin()});
  table.print();
}

Status show_rules(const Session& session, const std::string& module) {
  admin::v1::ListHealthRulesRequest request;
  request.set_module(module);
  const auto list = ask(session.socket, &admin::v1::Admin::Stub::ListHealthRules, request);
  if (!list) return std::unexpected(list.error());
  if (session.json) {
    print_json(*list, "modules");
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
