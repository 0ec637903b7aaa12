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

wire::HealthState wire_state(HealthState state) {
  switch (state) {
    case HealthState::kUnknown: return wire::HEALTH_STATE_UNKNOWN;
    case HealthState::kHealthy: return wire::HEALTH_STATE_HEALTHY;
    case HealthState::kUnhealthy: return wire::HEALTH_STATE_UNHEALTHY;
    case HealthState::kUnmonitored: return wire::HEALTH_STATE_UNMONITORED;
    case HealthState::kDegraded: return wire::HEALTH_STATE_DEGRADED;
  }
  return wire::HEALTH_STATE_UNSPECIFIED;
}

wire::TaintEffect wire_effect(TaintEffect effect) {
  switch (effect) {
    case TaintEffect::kNone: return wire::TAINT_EFFECT_NONE;
    case TaintEffect::kNoSchedule: return wire::TAINT_EFFECT_NO_SCHEDULE;
    case TaintEffect::kNoExecute: return wire::TAINT_EFFECT_NO_EXECUTE;
    case TaintEffect::kInform: return wire::TAINT_EFFECT_INFORM;
  }
  return wire::TAINT_EFFECT_NONE;
}

wire::Recovery wire_recovery(Recovery recovery) {
  switch (recovery) {
    case Recovery::kReport: return wire::RECOVERY_REPORT;
    case Recovery::kSilence: return wire::RECOVERY_SILENCE;
    case Recovery::kStable: return wire::RECOVERY_STABLE;
    case Recovery::kOperator: return wire::RECOVERY_OPERATOR;
  }
  return wire::RECOVERY_UNSPECIFIED;
}

wire::KubeletHealth wire_kubelet(KubeletHealth health) {
  switch (health) {
    case KubeletHealth::kHealthy: return wire::KUBELET_HEALTH_HEALTHY;
    case KubeletHealth::kUnhealthy: return wire::KUBELET_HEALTH_UNHEALTHY;
    case KubeletHealth::kUnknown: return wire::KUBELET_HEALTH_UNKNOWN;
  }
  return wire::KUBELET_HEALTH_UNSPECIFIED;
}

wire::HealthEventKind wire_kind(HealthEventKind kind) {
  switch (kind) {
    case HealthEventKind::kBegan: return wire::HEALTH_EVENT_KIND_BEGAN;
    case HealthEventKind::kEased: return wire::HEALTH_EVENT_KIND_EASED;
    case HealthEventKind::kEnded: return wire::HEALTH_EVENT_KIND_ENDED;
    case HealthEventKind::kCleared: return wire::HEALTH_EVENT_KIND_CLEARED;
    case HealthEventKind::kQuarantined: return wire::HEALTH_EVENT_KIND_QUARANTINED;
    case HealthEventKind::kGone: return wire::HEALTH_EVENT_KIND_GONE;
    case HealthEventKind::kBack: return wire::HEALTH_EVENT_KIND_BACK;
    case HealthEventKind::kCordoned: return wire::HEALTH_EVENT_KIND_CORDONED;
    case HealthEventKind::kUncordoned: return wire::HEALTH_EVENT_KIND_UNCORDONED;
    case HealthEventKind::kReset: return wire::HEALTH_EVENT_KIND_RESET;
    case HealthEventKind::kResetFailed: return wire::HEALTH_EVENT_KIND_RESET_FAILED;
  }
  return wire::HEALTH_EVENT_KIND_UNSPECIFIED;
}

void fill(wire::Cause& message, const CauseHealth& cause) {
  const Health& health = cause.health;
  message.set_name(text(health.cause));
  fill(*message.mutable_health(), health_condition(health));
  message.set_health_state(wire_state(health.state));
  message.set_reason(text(health.reason));
  message.set_taint(std::string(taint_word(advised_taint(health))));
  message.set_taint_effect(wire_effect(advised_taint(health)));
  message.set_taint_key(text(health.taint_key));
  message.set_taint_value(text(health.taint_value));
  message.set_since(milliseconds(cause.changed));
  message.set_of_parent(text(cause.of_parent));
  message.set_quarantined(cause.quarantined);
  if (health.value) message.set_value(*health.value);
}

void fill(wire::TaintRule& message, const TaintRule& rule) {
  message.set_effect(std::string(taint_word(rule.effect)));
  message.set_taint_effect(wire_effect(rule.effect));
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
    message.mutable_limit()->set_below(rule.limit->side == ValueLimit::Side::kBelow);
    message.mutable_limit()->set_limit(rule.limit->limit);
    message.mutable_limit()->set_clear(rule.limit->clear);
  }
  if (rule.severity) message.set_severity(wire_state(*rule.severity));
  message.set_hold_down_ms(milliseconds(rule.hold_down));
  message.set_recovery(wire_recovery(rule.recovery));
  message.set_recovery_time_ms(milliseconds(rule.recovery_time));
  message.set_relapses(rule.relapses);
  message.set_window_ms(milliseconds(rule.window));
  if (rule.taint) fill(*message.mutable_taint(), *rule.taint);
  if (rule.default_taint.effect != TaintEffect::kNone) fill(*message.mutable_default_taint(), rule.default_taint);
  if (rule.kubelet) message.set_kubelet(wire_kubelet(*rule.kubelet));
  message.set_resets_per_day(rule.resets_per_day);
  message.set_origin(text(named.origin));
}

void fill(wire::HealthEvent& message, const HealthEvent& event) {
  message.set_time(milliseconds(event.time));
  message.set_kind(std::string(to_string(event.kind)));
  message.set_event_kind(wire_kind(event.kind));
  message.set_module(text(event.device.module));
  message.set_device_id(text(event.device.id));
  message.set_device(text(event.name));
  message.set_cause(text(event.cause));
  message.set_state(std::string(health_word(event.state)));
  message.set_health_state(wire_state(event.state));
  message.set_reason(text(event.reason));
  message.set_message(text(event.message));
  message.set_by(text(event.by));
}

}  // namespace

void fill_health(wire::Device& message, const DeviceReport& report) {
  const Health& health = report.device.health;
  fill(*message.mutable_health(), health_condition(health));
  message.set_health_state(wire_state(health.state));
  message.set_health_reason(text(health.reason));
  const TaintEffect taint = strongest_taint(report.causes);
  message.set_taint(std::string(taint_word(taint)));
  message.set_taint_effect(wire_effect(taint));
  for (const CauseHealth& cause : report.causes) fill(*message.add_causes(), cause);
  if (!report.cordon) return;
  message.mutable_cordon()->set_by(text(report.cordon->by));
  message.mutable_cordon()->set_reason(text(report.cordon->reason));
  message.mutable_cordon()->set_since(milliseconds(report.cordon->since));
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
