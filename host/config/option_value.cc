// The values of options. Workers link this file and no other of the room.
#include "host/config/options.h"

#include <algorithm>
#include <boost/json/parse.hpp>

#include "host/core/duration.h"
#include "host/core/nearest.h"
#include "host/model/quantity.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

constexpr std::size_t kQuotedValue = 80, kMaxDurationError = 256;

constexpr std::string_view kAnAmount = "an amount such as 4Gi";

std::string_view type_name(const OptionValue& value) {
  static constexpr std::string_view kNames[] = {"a string", "an integer", "a boolean", "a list of strings",
                                                "an object"};
  return kNames[value.index()];
}

std::string_view expected_name(OptionType type) {
  switch (type) {
    case OptionType::kString: return "a string";
    case OptionType::kInteger: return "an integer";
    case OptionType::kBoolean: return "true or false";
    case OptionType::kDuration: return "a duration such as \"30s\"";
    case OptionType::kList: return "a list of strings";
    case OptionType::kMap: return "an object with strings as values";
  }
  return "something else";
}

std::unexpected<Error> wrong_type(const OptionDeclaration& declaration, const OptionValue& written) {
  const bool is_amount = declaration.quantity && declaration.type == OptionType::kString;
  const std::string_view expected = declaration.objects ? "a list of strings and objects"
                                    : is_amount         ? kAnAmount
                                                        : expected_name(declaration.type);
  return fail(Code::kInvalidArgument, "is {}, expected {}", type_name(written), expected);
}

bool is_bounded(const OptionDeclaration& declaration) { return declaration.min != 0 || declaration.max != 0; }

// `unit` follows the numbers: " bytes", " entries", "".
Status check_range(const OptionDeclaration& declaration, std::int64_t value, std::string_view verb,
                   std::string_view unit) {
  if (!is_bounded(declaration) || (value >= declaration.min && value <= declaration.max)) return {};
  return fail(Code::kInvalidArgument, "{} {}{}, expected {} to {}", verb, value, unit, declaration.min,
              declaration.max);
}

Status check_text(const OptionDeclaration& declaration, const std::string& text) {
  if (text.find('\0') != std::string::npos || !is_utf8(text))
    return fail(Code::kInvalidArgument, "is not UTF-8 text without NUL");
  if (declaration.choices.empty() || std::ranges::find(declaration.choices, text) != declaration.choices.end())
    return {};
  const std::string shown = declaration.secret ? "a secret value" : "'" + printable(text, kQuotedValue) + "'";
  const std::string hint = declaration.secret ? "" : nearest_hint(text, declaration.choices);
  return fail(Code::kInvalidArgument, "is {}, expected one of '{}'{}", shown, fmt::join(declaration.choices, "', '"),
              hint);
}

// The amount as a whole number, rounded up.
Result<std::string> whole_amount(const OptionDeclaration& declaration, const std::string& text) {
  const auto amount = Quantity::parse(text);
  const auto whole = amount && amount->value >= 0 ? amount->rounded_up().in_units(0) : std::nullopt;
  if (whole) return fmt::format("{}", *whole);
  const std::string shown = declaration.secret ? "a secret value" : "'" + printable(text, kQuotedValue) + "'";
  return fail(Code::kInvalidArgument, "is {}, expected {}", shown, kAnAmount);
}

Result<OptionValue> check_string(const OptionDeclaration& declaration, const std::string& text) {
  if (auto checked = check_text(declaration, text); !checked) return std::unexpected(checked.error());
  if (declaration.quantity) return whole_amount(declaration, text);
  if (auto checked = check_range(declaration, static_cast<std::int64_t>(text.size()), "has", " bytes"); !checked)
    return std::unexpected(checked.error());
  return OptionValue(text);
}

Result<OptionValue> check_list(const OptionDeclaration& declaration, const std::vector<std::string>& items) {
  for (const std::string& item : items)
    if (auto checked = check_text(declaration, item); !checked) return std::unexpected(checked.error());
  if (auto checked = check_range(declaration, static_cast<std::int64_t>(items.size()), "has", " entries"); !checked)
    return std::unexpected(checked.error());
  return OptionValue(items);
}

Result<OptionValue> check_map(const OptionDeclaration& declaration, const TextMap& entries) {
  if (entries.size() > kMaxMapEntries)
    return fail(Code::kInvalidArgument, "has {} entries, at most {} are allowed", entries.size(), kMaxMapEntries);
  TextMap checked_entries;
  for (const auto& [key, text] : entries) {
    if (key.empty() || key.size() > kMaxMapKey || !is_line(key))
      return fail(Code::kInvalidArgument, "has a key that is not one line of 1 to {} bytes", kMaxMapKey);
    if (auto checked = check_text(declaration, text); !checked) return std::unexpected(checked.error());
    auto amount = declaration.quantity ? whole_amount(declaration, text) : text;
    if (!amount)
      return fail(Code::kInvalidArgument, "under {} {}", declaration.secret ? "a key" : "'" + key + "'",
                  amount.error().message);
    checked_entries[key] = std::move(*amount);
  }
  if (auto checked = check_range(declaration, static_cast<std::int64_t>(entries.size()), "has", " entries"); !checked)
    return std::unexpected(checked.error());
  return checked_entries;  // GCC 12 warns about a temporary OptionValue here
}

Result<OptionValue> check_duration(const OptionDeclaration& declaration, const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration && declaration.secret) return fail(Code::kInvalidArgument, "is not a duration");
  if (!duration)
    return fail(Code::kInvalidArgument, "is not valid: {}", printable(duration.error().message, kMaxDurationError));
  const std::int64_t value = duration->count();
  if (is_bounded(declaration) && (value < declaration.min || value > declaration.max))
    return fail(Code::kInvalidArgument, "is {}, expected {} to {}", format_duration(*duration),
                format_duration(std::chrono::nanoseconds(declaration.min)),
                format_duration(std::chrono::nanoseconds(declaration.max)));
  return OptionValue(value);
}

OptionValue zero_value(OptionType type) {
  switch (type) {
    case OptionType::kString: return std::string();
    case OptionType::kBoolean: return false;
    case OptionType::kList: return std::vector<std::string>();
    case OptionType::kMap: return TextMap();
    case OptionType::kInteger:
    case OptionType::kDuration: break;
  }
  return std::int64_t{0};
}

// Integers, booleans and lists of strings are written in TOML as in JSON.
Result<OptionValue> parse_literal(const std::string& text) {
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(text, error);
  if (!error && value.is_int64()) return OptionValue(value.as_int64());
  if (!error && value.is_bool()) return OptionValue(value.as_bool());
  if (!error && value.is_array() &&
      std::ranges::all_of(value.as_array(), [](const auto& item) { return item.is_string(); })) {
    std::vector<std::string> items;
    for (const auto& item : value.as_array()) items.emplace_back(item.as_string());
    return OptionValue(std::move(items));
  }
  return fail(Code::kInvalidArgument, "'{}' is not a value; write it as in TOML", text);
}

}  // namespace

Result<OptionValue> check_value(const OptionDeclaration& declaration, const OptionValue& written) {
  switch (declaration.type) {
    case OptionType::kString:
      if (const auto* text = std::get_if<std::string>(&written)) return check_string(declaration, *text);
      break;
    case OptionType::kDuration:
      if (const auto* text = std::get_if<std::string>(&written)) return check_duration(declaration, *text);
      break;
    case OptionType::kList:
      if (const auto* items = std::get_if<std::vector<std::string>>(&written)) return check_list(declaration, *items);
      break;
    case OptionType::kMap:
      if (const auto* entries = std::get_if<TextMap>(&written)) return check_map(declaration, *entries);
      break;
    case OptionType::kBoolean:
      if (std::holds_alternative<bool>(written)) return written;
      break;
    case OptionType::kInteger:
      if (const auto* number = std::get_if<std::int64_t>(&written)) {
        if (auto checked = check_range(declaration, *number, "is", ""); !checked)
          return std::unexpected(checked.error());
        return written;
      }
      break;
  }
  return wrong_type(declaration, written);
}

Result<OptionValue> default_value(const OptionDeclaration& declaration) {
  if (declaration.default_text.empty()) return zero_value(declaration.type);
  if (declaration.type == OptionType::kMap && declaration.default_text != "{}")
    return fail(Code::kInvalidArgument, "of an object is {{}} or empty");
  if (declaration.type == OptionType::kMap) return check_map(declaration, {});
  if (declaration.type == OptionType::kString || declaration.type == OptionType::kDuration)
    return check_value(declaration, declaration.default_text);
  const auto literal = parse_literal(declaration.default_text);
  return literal ? check_value(declaration, *literal) : literal;
}

}  // namespace cardcage
