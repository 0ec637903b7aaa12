// Opaque parameters: JSON in a ResourceClaim or DeviceClass, which anybody in the cluster may have written.
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <set>

#include "host/config/options.h"
#include "host/core/nearest.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

namespace json = boost::json;
using boost::system::error_code;

constexpr std::size_t kMaxDepth = 16, kQuotedName = 80;

// Sees every name of a document, since parse() silently keeps only the last of equal names.
struct DuplicateFinder {
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  std::vector<std::set<std::string, std::less<>>> open;
  std::string name;
  std::string duplicate;

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) {
    open.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, error_code&) {
    open.pop_back();
    return true;
  }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t, error_code&) { return true; }
  bool on_key_part(json::string_view part, std::size_t, error_code&) {
    name.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, std::size_t, error_code&) {
    name.append(part.data(), part.size());
    if (!open.back().insert(name).second) duplicate = name;
    name.clear();
    return true;
  }
  bool on_string_part(json::string_view, std::size_t, error_code&) { return true; }
  bool on_string(json::string_view, std::size_t, error_code&) { return true; }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, json::string_view, error_code&) { return true; }
  bool on_uint64(std::uint64_t, json::string_view, error_code&) { return true; }
  bool on_double(double, json::string_view, error_code&) { return true; }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }
};

Result<json::object> parse_object(std::string_view text) {
  if (text.size() > kMaxParameterBytes)
    return fail(Code::kInvalidArgument, "parameters have {} bytes, at most {} are allowed", text.size(),
                kMaxParameterBytes);
  json::parse_options options;
  options.max_depth = kMaxDepth;
  error_code error;
  json::basic_parser<DuplicateFinder> names(options);
  const std::size_t parsed = names.write_some(false, text.data(), text.size(), error);
  if (!error && parsed < text.size()) error = json::error::extra_data;
  if (error) return fail(Code::kInvalidArgument, "parameters are not JSON: {} at byte {}", error.message(), parsed);
  if (!names.handler().duplicate.empty())
    return fail(Code::kInvalidArgument, "parameters have '{}' twice",
                printable(names.handler().duplicate, kQuotedName));
  json::value value = json::parse({text.data(), text.size()}, error, {}, options);
  if (error || !value.is_object()) return fail(Code::kInvalidArgument, "parameters are not a JSON object");
  return std::move(value.as_object());
}

// Removes the member `name` from `object`. Its value must be `wanted`, unless `wanted` is empty.
Status take_type(json::object& object, std::string_view name, const std::string& wanted) {
  const json::value* const found = object.if_contains(name);
  if (!wanted.empty()) {
    if (found == nullptr) return fail(Code::kInvalidArgument, "parameters have no {}, expected '{}'", name, wanted);
    if (!found->is_string() || std::string_view(found->as_string()) != wanted)
      return fail(Code::kInvalidArgument, "parameters have {} {}, expected '{}'", name,
                  printable(json::serialize(*found), kQuotedName), wanted);
  }
  object.erase(name);
  return {};
}

// Users who write claims may have no documentation of the module, so the message lists its parameters unless one of
// them is close to `name`.
std::unexpected<Error> unknown_name(const ModuleIdentity& identity, const std::string& name) {
  std::vector<std::string> names;
  for (const OptionDeclaration& declaration : identity.params) names.push_back(declaration.name);
  std::string hint = nearest_hint(name, names);
  if (hint.empty()) hint = fmt::format("; module '{}' has '{}'", identity.id, fmt::join(names, "', '"));
  return fail(Code::kInvalidArgument, "there is no parameter '{}'{}", printable(name, kQuotedName), hint);
}

Result<OptionValue> to_value(const json::value& given) {
  if (given.is_string()) return OptionValue(std::string(given.as_string()));
  if (given.is_bool()) return OptionValue(given.as_bool());
  if (given.is_int64()) return OptionValue(given.as_int64());
  if (given.is_array() && std::ranges::all_of(given.as_array(), [](const auto& item) { return item.is_string(); })) {
    std::vector<std::string> items;
    for (const auto& item : given.as_array()) items.emplace_back(item.as_string());
    return OptionValue(std::move(items));
  }
  if (given.is_number()) return fail(Code::kInvalidArgument, "is not an integer of 64 bits");
  return fail(Code::kInvalidArgument, "is {}, which no parameter can be",
              given.is_null()     ? "null"
              : given.is_object() ? "an object"
                                  : "a list with other values than strings");
}

}  // namespace

Result<OptionValues> decode_params(const ModuleIdentity& identity, std::string_view text) {
  auto object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  if (auto taken = take_type(*object, "apiVersion", identity.params_api_version); !taken)
    return std::unexpected(taken.error());
  if (auto taken = take_type(*object, "kind", identity.params_kind); !taken) return std::unexpected(taken.error());
  OptionValues values;
  if (identity.params.empty()) return values;

  for (const auto& member : *object) {
    const std::string name(member.key());
    const auto declaration = std::ranges::find(identity.params, name, &OptionDeclaration::name);
    if (declaration == identity.params.end()) return unknown_name(identity, name);
    const auto written = to_value(member.value());
    auto value = written ? check_value(*declaration, *written) : written;
    if (!value) return fail(Code::kInvalidArgument, "parameter '{}' {}", name, value.error().message);
    values.entries[name] = {std::move(*value), true};
  }
  return values;
}

Result<OptionValues> resolve_params(const ModuleIdentity& identity, const std::vector<OptionValues>& decoded) {
  OptionValues values;
  for (const OptionValues& layer : decoded)
    for (const auto& [name, entry] : layer.entries) values.entries[name] = entry;
  for (const OptionDeclaration& declaration : identity.params) {
    if (values.entries.contains(declaration.name)) continue;
    if (declaration.required)
      return fail(Code::kInvalidArgument, "parameter '{}' is required ({})", declaration.name, declaration.help);
    auto value = default_value(declaration);
    if (!value) return within(value.error(), "default of parameter '{}'", declaration.name);
    values.entries[declaration.name] = {std::move(*value), false};
  }
  return values;
}

}  // namespace cardcage
