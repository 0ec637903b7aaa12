#include "host/model/cause.h"

#include <algorithm>
#include <cmath>

#include "host/model/naming.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxHelp = 256, kMaxUnit = 16, kQuoted = 80;
constexpr std::chrono::seconds kMaxTime = std::chrono::days(7);
constexpr std::uint32_t kMaxRelapses = 100;

bool is_unit(std::string_view text) {
  return text.size() <= kMaxUnit && std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

Status check_texts(const CauseDeclaration& cause) {
  if (!is_camel_case(cause.name, 64))
    return fail(Code::kInvalidArgument,
                "name '{}' is not a CamelCase word of at most 64 letters and digits, such as Temperature",
                printable(cause.name, kQuoted));
  if (cause.help.empty() || cause.help.size() > kMaxHelp || !is_line(cause.help))
    return fail(Code::kInvalidArgument, "help '{}' is not one line of UTF-8 of 1 to {} bytes",
                printable(cause.help, kQuoted), kMaxHelp);
  if (!is_unit(cause.unit))
    return fail(Code::kInvalidArgument,
                "unit '{}' is not a UCUM code of at most {} printable ASCII characters, such as Cel",
                printable(cause.unit, kQuoted), kMaxUnit);
  return {};
}

Status check_limit(const CauseDeclaration& cause) {
  if (!cause.limit) return {};
  const ValueLimit& limit = *cause.limit;
  const bool above = limit.side == ValueLimit::Side::kAbove;
  if (cause.unit.empty())
    return fail(Code::kInvalidArgument, "limit {} has no unit: statements have a value only with one", limit.limit);
  if (!std::isfinite(limit.limit) || !std::isfinite(limit.clear))
    return fail(Code::kInvalidArgument, "limit {} and clear_limit {} are not both finite", limit.limit, limit.clear);
  if (above ? limit.clear > limit.limit : limit.clear < limit.limit)
    return fail(Code::kInvalidArgument, "clear_limit {} is {} limit {}: the cause would never be over", limit.clear,
                above ? "above" : "below", limit.limit);
  if (cause.severity != HealthState::kUnhealthy && cause.severity != HealthState::kDegraded)
    return fail(Code::kInvalidArgument, "severity is neither BAD nor DEGRADED, which a cause with a limit needs");
  return {};
}

Status check_end(const CauseDeclaration& cause) {
  const bool waits = cause.recovery == Recovery::kSilence || cause.recovery == Recovery::kStable;
  if (waits && cause.recovery_time.count() == 0)
    return fail(Code::kInvalidArgument, "recovery_s is 0, but SILENCE and STABLE need a time");
  if (cause.recovery == Recovery::kStable && cause.unit.empty())
    return fail(Code::kInvalidArgument, "recovery is STABLE, but without a unit there is no value that could change");
  if (cause.event && cause.recovery == Recovery::kReport)
    return fail(Code::kInvalidArgument,
                "recovery is REPORT, but the end of an EVENT is never stated: it would never be over");
  if ((cause.relapses == 0) != (cause.window.count() == 0))
    return fail(Code::kInvalidArgument, "relapses is {} and window_s is {}: set both or none", cause.relapses,
                cause.window.count());
  if (cause.relapses > kMaxRelapses)
    return fail(Code::kInvalidArgument, "relapses is {}, at most {} are allowed", cause.relapses, kMaxRelapses);
  for (const auto& [member, time] :
       {std::pair("hold_down_s", cause.hold_down), {"recovery_s", cause.recovery_time}, {"window_s", cause.window}})
    if (time < std::chrono::seconds(0) || time > kMaxTime)
      return fail(Code::kInvalidArgument, "{} is {}, at most 7 days are allowed ({})", member, time.count(),
                  kMaxTime.count());
  return {};
}

Status check_taint(const CauseDeclaration& cause) {
  const TaintRule& taint = cause.taint;
  if (!taint.key.empty() && !(taint.key.contains('/') && is_label_key(taint.key)))
    return fail(Code::kInvalidArgument,
                "taint_key '{}' is not the key of a label with a domain, such as example.com/ecc",
                printable(taint.key, kQuoted));
  if (!is_label_value(taint.value))
    return fail(Code::kInvalidArgument, "taint_value '{}' is not the value of a label",
                printable(taint.value, kQuoted));
  if (taint.effect != TaintEffect::kNone && cause.severity == HealthState::kHealthy)
    return fail(Code::kInvalidArgument, "it has a taint, but the severity OK: nothing would ever be tainted");
  return {};
}

}  // namespace

Status check_cause(const CauseDeclaration& cause) {
  for (const auto check : {check_texts, check_limit, check_end, check_taint})
    if (auto checked = check(cause); !checked) return checked;
  return {};
}

}  // namespace cardcage
