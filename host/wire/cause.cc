// Declared causes of health.
#include <algorithm>

#include "host/core/bounded.h"
#include "host/wire/messages.h"

namespace cardcage {
namespace {

using Causes = google::protobuf::RepeatedPtrField<wire::CauseDeclaration>;

// Exceeds the limit of check_cause(), and is in range of every clock.
constexpr std::chrono::seconds kTooLong = std::chrono::days(8);

std::chrono::seconds seconds(std::int64_t count) { return bounded(count, std::chrono::seconds(-1), kTooLong); }

template <class Enum>
Enum at_most(std::uint32_t number, Enum last) {
  return static_cast<Enum>(std::min(number, static_cast<std::uint32_t>(last)));
}

CauseDeclaration read_one(const wire::CauseDeclaration& from) {
  CauseDeclaration cause{
      .name = from.name(),
      .help = from.help(),
      .unit = from.unit(),
      .event = from.event(),
      .limit = {},
      .severity = {},
      .hold_down = seconds(from.hold_down_seconds()),
      .recovery = at_most(from.recovery(), Recovery::kOperator),
      .recovery_time = seconds(from.recovery_seconds()),
      .relapses = from.relapses(),
      .window = seconds(from.window_seconds()),
      .taint = {
          .effect = at_most(from.taint(), TaintEffect::kInform), .key = from.taint_key(), .value = from.taint_value()}};
  if (from.has_limit())
    cause.limit = {.side = from.limit().below() ? ValueLimit::Side::kBelow : ValueLimit::Side::kAbove,
                   .limit = from.limit().limit(),
                   .clear = from.limit().clear()};
  if (from.has_severity()) cause.severity = at_most(from.severity(), HealthState::kDegraded);
  return cause;
}

}  // namespace

void write(const std::vector<CauseDeclaration>& from, Causes& to) {
  for (const CauseDeclaration& cause : from) {
    wire::CauseDeclaration& out = *to.Add();
    out.set_name(cause.name);
    out.set_help(cause.help);
    out.set_unit(cause.unit);
    out.set_event(cause.event);
    if (cause.limit) {
      out.mutable_limit()->set_below(cause.limit->side == ValueLimit::Side::kBelow);
      out.mutable_limit()->set_limit(cause.limit->limit);
      out.mutable_limit()->set_clear(cause.limit->clear);
    }
    if (cause.severity) out.set_severity(static_cast<std::uint32_t>(*cause.severity));
    out.set_hold_down_seconds(cause.hold_down.count());
    out.set_recovery(static_cast<std::uint32_t>(cause.recovery));
    out.set_recovery_seconds(cause.recovery_time.count());
    out.set_relapses(cause.relapses);
    out.set_window_seconds(cause.window.count());
    out.set_taint(static_cast<std::uint32_t>(cause.taint.effect));
    out.set_taint_key(cause.taint.key);
    out.set_taint_value(cause.taint.value);
  }
}

std::vector<CauseDeclaration> read(const Causes& from) {
  std::vector<CauseDeclaration> causes;
  for (const wire::CauseDeclaration& in : from) {
    CauseDeclaration cause = read_one(in);
    const bool is_known = std::ranges::find(causes, cause.name, &CauseDeclaration::name) != causes.end();
    if (is_known || causes.size() == kMaxDeclaredCauses || !check_cause(cause)) return {};
    causes.push_back(std::move(cause));
  }
  return causes;
}

}  // namespace cardcage
