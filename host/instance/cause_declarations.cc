#include "host/instance/declared_parts.h"

#include <algorithm>

#include "host/sinks/borrowed.h"

namespace cardcage {
namespace {

constexpr std::uint32_t kLimitFlags = CAGE_CAUSE_ABOVE | CAGE_CAUSE_BELOW;

// check_cause() looks at the texts; here they only have to be readable.
Status copy_texts(const cage_cause& given, CauseDeclaration& cause) {
  const auto any = [](std::string_view) { return true; };
  const auto copy = [&](cage_str text, std::string_view what, std::string& to) -> Status {
    auto copied = ruled_text(text, any, what, "");
    if (!copied) return std::unexpected(std::move(copied.error()));
    to = std::move(*copied);
    return {};
  };
  for (const auto& [text, what, to] : {std::tuple(given.name, "name", &cause.name),
                                       {given.help, "help", &cause.help},
                                       {given.unit, "unit", &cause.unit},
                                       {given.taint_key, "taint_key", &cause.taint.key},
                                       {given.taint_value, "taint_value", &cause.taint.value}})
    if (auto copied = copy(text, what, *to); !copied) return copied;
  return {};
}

Status copy_limit(const cage_cause& given, CauseDeclaration& cause) {
  const std::uint32_t sides = given.flags & kLimitFlags;
  if (sides == kLimitFlags) return fail(Code::kInvalidArgument, "flags have both ABOVE and BELOW: declare two causes");
  if (sides != 0)
    cause.limit = {.side = sides == CAGE_CAUSE_ABOVE ? ValueLimit::Side::kAbove : ValueLimit::Side::kBelow,
                   .limit = given.limit,
                   .clear = given.clear_limit};
  else if (given.limit != 0 || given.clear_limit != 0)
    return fail(Code::kInvalidArgument, "limit is {} and clear_limit is {}, but flags have neither ABOVE nor BELOW",
                given.limit, given.clear_limit);
  return {};
}

Status copy_numbers(const cage_cause& given, CauseDeclaration& cause) {
  const auto unknown = [](std::string_view member, std::uint32_t number) {
    return fail(Code::kInvalidArgument, "{} {} is unknown [R16]", member, number);
  };
  constexpr std::uint32_t kKnownFlags = CAGE_CAUSE_EVENT | kLimitFlags;
  if ((given.flags & ~kKnownFlags) != 0) return unknown("flags", given.flags);
  if (given.severity > CAGE_HEALTH_DEGRADED) return unknown("severity", given.severity);
  if (given.recovery > CAGE_RECOVERY_OPERATOR) return unknown("recovery", given.recovery);
  if (given.taint > CAGE_TAINT_INFORM) return unknown("taint", given.taint);
  cause.event = (given.flags & CAGE_CAUSE_EVENT) != 0;
  if (given.severity != CAGE_HEALTH_UNKNOWN) cause.severity = static_cast<HealthState>(given.severity);
  cause.hold_down = std::chrono::seconds(given.hold_down_s);
  cause.recovery = static_cast<Recovery>(given.recovery);
  cause.recovery_time = std::chrono::seconds(given.recovery_s);
  cause.relapses = given.relapses;
  cause.window = std::chrono::seconds(given.window_s);
  cause.taint.effect = static_cast<TaintEffect>(given.taint);
  return {};
}

Result<CauseDeclaration> copy_cause(const cage_cause* given) {
  const auto adopted = adopt(given, "cage_cause");
  if (!adopted) return std::unexpected(adopted.error());
  CauseDeclaration cause;
  for (const auto copy : {copy_texts, copy_numbers, copy_limit})
    if (auto copied = copy(*adopted, cause); !copied) return std::unexpected(std::move(copied.error()));
  if (auto checked = check_cause(cause); !checked) return std::unexpected(std::move(checked.error()));
  return cause;
}

}  // namespace

Result<std::vector<CauseDeclaration>> copy_causes(const cage_module& table) {
  const auto given = items_of(table.causes, table.cause_count, kMaxDeclaredCauses, "causes");
  if (!given) return within(given.error(), "[R23]");
  std::vector<CauseDeclaration> causes;
  for (const cage_cause* one : *given) {
    auto cause = copy_cause(one);
    if (!cause) return within(cause.error(), "entry {} of causes [R23]", causes.size());
    if (std::ranges::find(causes, cause->name, &CauseDeclaration::name) != causes.end())
      return fail(Code::kInvalidArgument, "causes has '{}' twice [R23]", cause->name);
    causes.push_back(std::move(*cause));
  }
  return causes;
}

}  // namespace cardcage
