#include "host/admission/value_rule.h"

#include <fmt/ranges.h>

#include "host/admission/cel.h"
#include "host/config/options.h"
#include "host/core/duration.h"

namespace cardcage {
namespace {

// No sum of so many digits overflows, so duration() never fails. The longest hours are 114 years.
constexpr std::string_view kDurationPattern =
    "^([0-9]{1,6}h)?([0-9]{1,7}m)?([0-9]{1,9}s)?([0-9]{1,12}ms)?([0-9]{1,15}us)?([0-9]{1,18}ns)?$";
constexpr std::string_view kControlCharacter = "[\\x00-\\x1f\\x7f]";

bool is_bounded(const OptionDeclaration& declaration) { return declaration.min != 0 || declaration.max != 0; }

std::string text_rule(const OptionDeclaration& declaration, std::string_view text) {
  if (!declaration.choices.empty()) return fmt::format("{} in {}", text, cel_strings(declaration.choices));
  return fmt::format("!{}.contains('\\u0000')", text);
}

// Returns " && v.size() >= 1 && v.size() <= 8", or "" without limits.
std::string size_rule(const OptionDeclaration& declaration, std::string_view size) {
  if (!is_bounded(declaration)) return "";
  const std::string least = declaration.min > 0 ? fmt::format(" && {} >= {}", size, declaration.min) : "";
  return fmt::format("{} && {} <= {}", least, size, declaration.max);
}

// Returns "1 to 8 strings", "at most 8 strings" or "strings".
std::string counted(const OptionDeclaration& declaration, std::string_view what) {
  if (!is_bounded(declaration)) return std::string(what);
  if (declaration.min <= 0) return fmt::format("at most {} {}", declaration.max, what);
  return fmt::format("{} to {} {}", declaration.min, declaration.max, what);
}

std::string one_of(const OptionDeclaration& declaration) {
  return fmt::format("one of '{}'", fmt::join(declaration.choices, "', '"));
}

// Accepts numbers, too.
std::string amount_rule(std::string_view value) {
  return fmt::format("(type({0}) == int || type({0}) == double || (type({0}) == string && isQuantity({0})))", value);
}

ValueRule string_rule(const OptionDeclaration& declaration) {
  if (declaration.quantity) return {amount_rule("v"), "an amount such as 4Gi"};
  std::string expected = declaration.choices.empty() ? "a string" : one_of(declaration);
  if (is_bounded(declaration)) expected += " of " + counted(declaration, "bytes");
  return {
      fmt::format("type(v) == string && {}{}", text_rule(declaration, "v"), size_rule(declaration, "bytes(v).size()")),
      std::move(expected)};
}

ValueRule integer_rule(const OptionDeclaration& declaration) {
  if (!is_bounded(declaration)) return {"type(v) == int", "an integer"};
  return {fmt::format("type(v) == int && v >= {} && v <= {}", declaration.min, declaration.max),
          fmt::format("an integer from {} to {}", declaration.min, declaration.max)};
}

ValueRule duration_rule(const OptionDeclaration& declaration) {
  const std::string valid = fmt::format("type(v) == string && v != '' && v.matches({})", cel_string(kDurationPattern));
  if (!is_bounded(declaration)) return {valid, "a duration such as \"30s\""};
  const std::string least = format_duration(std::chrono::nanoseconds(declaration.min)),
                    most = format_duration(std::chrono::nanoseconds(declaration.max));
  return {fmt::format("{} && duration(v) >= duration('{}') && duration(v) <= duration('{}')", valid, least, most),
          fmt::format("a duration from {} to {}", least, most)};
}

// Leaves the names of members to the module.
ValueRule objects_rule(const OptionDeclaration& declaration) {
  const std::string members = fmt::format(
      "s.all(k, k != '' && !k.matches({}) && (type(s[k]) == int || type(s[k]) == bool || "
      "(type(s[k]) == string && !s[k].matches({}))))",
      cel_string("[\\x00-\\x1f\\x7f=]"), cel_string(kControlCharacter));
  return {fmt::format("type(v) == list{} && v.all(s, (type(s) == string && {}) || (type(s) == map && {}))",
                      size_rule(declaration, "v.size()"), text_rule(declaration, "s"), members),
          fmt::format("a list of {} and objects", counted(declaration, "strings"))};
}

ValueRule list_rule(const OptionDeclaration& declaration) {
  if (declaration.objects) return objects_rule(declaration);
  return {fmt::format("type(v) == list{} && v.all(s, type(s) == string && {})", size_rule(declaration, "v.size()"),
                      text_rule(declaration, "s")),
          fmt::format("a list of {}{}", counted(declaration, "strings"),
                      declaration.choices.empty() ? "" : ", each " + one_of(declaration))};
}

ValueRule map_rule(const OptionDeclaration& declaration) {
  const std::string entry =
      declaration.quantity ? amount_rule("v[k]") : "type(v[k]) == string && !v[k].contains('\\u0000')";
  return {
      fmt::format("type(v) == map && v.size() <= {}{} && v.all(k, k != '' && bytes(k).size() <= {} && "
                  "!k.matches({}) && {})",
                  kMaxMapEntries, size_rule(declaration, "v.size()"), kMaxMapKey, cel_string(kControlCharacter), entry),
      fmt::format("an object with {} as values", counted(declaration, declaration.quantity ? "amounts" : "strings"))};
}

}  // namespace

ValueRule value_rule(const OptionDeclaration& declaration) {
  switch (declaration.type) {
    case OptionType::kString: return string_rule(declaration);
    case OptionType::kInteger: return integer_rule(declaration);
    case OptionType::kBoolean: return {"type(v) == bool", "true or false"};
    case OptionType::kDuration: return duration_rule(declaration);
    case OptionType::kList: return list_rule(declaration);
    case OptionType::kMap: break;
  }
  return map_rule(declaration);
}

}  // namespace cardcage
