#include <algorithm>

#include "host/admin/message_parts.h"
#include "host/admin/messages.h"
#include "host/core/bounded.h"
#include "host/model/text_rules.h"
#include "host/view/device_report.h"

namespace cardcage {
namespace {

namespace wire = admin::v1;

// Limits in bytes of an operator's name and reason, which are stored with the device and in its history.
constexpr std::size_t kMaxBy = 256, kMaxReason = 1024;

std::string_view word(Recovery recovery) {
  switch (recovery) {
    case Recovery::kReport: return "report";
    case Recovery::kSilence: return "silence";
    case Recovery::kStable: return "stable";
    case Recovery::kOperator: return "operator";
  }
  return "";
}

std::string_view word(KubeletHealth health) {
  switch (health) {
    case KubeletHealth::kHealthy: return "healthy";
    case KubeletHealth::kUnhealthy: return "unhealthy";
    case KubeletHealth::kUnknown: return "unknown";
  }
  return "";
}

// Fills what the health of a device and of a cause have in common.
template <class Message>
void fill_state(Message& message, const Health& health, TaintEffect taint) {
  const Condition condition = health_condition(health);
  message.set_state(condition.reason);
  message.set_level(std::string(to_string(condition.level)));
  message.set_reason(text(health.reason));
  message.set_message(text(condition.text));
  message.set_taint(std::string(taint_word(taint)));
}

void fill(wire::Cause& message, const CauseHealth& cause) {
  const Health& health = cause.health;
  message.set_name(text(health.cause));
  fill_state(message, health, advised_taint(health));
  message.set_taint_key(text(health.taint_key));
  message.set_taint_value(text(health.taint_value));
  message.set_allocated_since(new_timestamp(cause.changed));
  message.set_of_parent(text(cause.of_parent));
  message.set_quarantined(cause.quarantined);
  if (health.value) message.set_value(*health.value);
}

void fill(wire::TaintRule& message, const TaintRule& rule) {
  message.set_effect(std::string(taint_word(rule.effect)));
  message.set_key(text(rule.key));
  message.set_value(text(rule.value));
}

void fill(wire::HealthRule& message, const NamedRule& named) {
  const HealthRule& rule = named.rule;
  message.set_cause(text(named.cause));
  message.set_reason(text(named.reason));
  message.set_unit(text(named.unit));
  message.set_help(text(named.help));
  if (rule.limit) {
    message.mutable_limit()->set_side(rule.limit->side == ValueLimit::Side::kBelow ? "below" : "above");
    message.mutable_limit()->set_limit(rule.limit->limit);
    message.mutable_limit()->set_clear(rule.limit->clear);
  }
  if (rule.severity)
    message.set_severity(*rule.severity == HealthState::kHealthy ? "ignored"
                                                                 : std::string(health_word(*rule.severity)));
  message.set_hold_down_seconds(seconds(rule.hold_down));
  message.set_recovery(std::string(word(rule.recovery)));
  message.set_recovery_seconds(seconds(rule.recovery_time));
  message.set_relapses(rule.relapses);
  message.set_window_seconds(seconds(rule.window));
  if (rule.taint) fill(*message.mutable_taint(), *rule.taint);
  if (rule.default_taint.effect != TaintEffect::kNone) fill(*message.mutable_default_taint(), rule.default_taint);
  if (rule.kubelet) message.set_kubelet(std::string(word(*rule.kubelet)));
  message.set_resets_per_day(rule.resets_per_day);
  message.set_origin(text(named.origin));
}

void fill(wire::HealthEvent& message, const HealthEvent& event) {
  message.set_allocated_time(new_timestamp(event.time));
  message.set_kind(std::string(to_string(event.kind)));
  message.set_module(text(event.device.module));
  message.set_device_id(text(event.device.id));
  message.set_device(text(event.name));
  message.set_cause(text(event.cause));
  const bool of_cause = event.kind <= HealthEventKind::kQuarantined;  // the later kinds concern the device
  if (of_cause) message.set_state(std::string(health_word(event.state)));
  message.set_reason(text(event.reason));
  message.set_message(text(event.message));
  message.set_by(text(event.by));
}

}  // namespace

void fill_health(wire::Device& message, const DeviceReport& report) {
  wire::Health& health = *message.mutable_health();
  fill_state(health, report.device.health, strongest_taint(report.causes));
  for (const CauseHealth& cause : report.causes) fill(*health.add_causes(), cause);
  if (!report.cordon) return;
  message.mutable_cordon()->set_by(text(report.cordon->by));
  message.mutable_cordon()->set_reason(text(report.cordon->reason));
  message.mutable_cordon()->set_allocated_since(new_timestamp(report.cordon->since));
}

void fill(wire::ListHealthRulesResponse& message, const std::vector<HealthRulesReport>& reports) {
  for (const HealthRulesReport& report : reports) {
    wire::ModuleHealthRules& module = *message.add_modules();
    module.set_module(report.module);
    module.set_refused(text(report.refused));
    for (const NamedRule& rule : report.rules) fill(*module.add_rules(), rule);
  }
}

void fill(wire::ListHealthEventsResponse& message, const std::vector<HealthEvent>& events) {
  for (const HealthEvent& event : events) fill(*message.add_events(), event);
}

void fill(wire::DeviceCommandResponse& message, const std::string& done) { message.set_done(text(done)); }

DeviceCommand device_command(DeviceVerb verb, const wire::DeviceCommandRequest& request) {
  return {.verb = verb,
          .module = request.module(),
          .device = request.device(),
          .cause = request.cause(),
          .by = printable(operator_name(request.by()), kMaxBy),
          .reason = printable(request.reason(), kMaxReason),
          .force = request.force(),
          .limit = command_limit(request.limit_ms())};
}

HealthQuery health_query(const wire::ListHealthEventsRequest& request) {
  return {.device = request.device(),
          .module = request.module(),
          .since = bounded_wall_time(request.since()),
          .limit = history_limit(request.limit())};
}

}  // namespace cardcage
