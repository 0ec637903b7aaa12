// Opaque parameters, which any user of the cluster may have written.
#include "host/config/params.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "host/config/option_lines.h"
#include "host/config/options.h"
#include "host/config/params_json.h"
#include "host/core/nearest.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

namespace json = boost::json;

using Schemas = std::vector<const ParamsSchema*>;

std::string_view type_name(const json::value& value) {
  if (value.is_null()) return "null";
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_bool()) return "a boolean";
  return value.is_string() ? "a string" : "a number";
}

// Keeps the schemas whose `part`, apiVersion or kind, is that of the document. A schema without one takes any.
Status choose(Schemas& schemas, const json::object& object, std::string_view name, std::string ParamsSchema::* part) {
  std::vector<std::string> known;
  for (const ParamsSchema* schema : schemas)
    if (std::ranges::find(known, schema->*part) == known.end()) known.push_back(schema->*part);
  if (known.front().empty()) return {};
  const std::string expected = fmt::format("{}'{}'", known.size() > 1 ? "one of " : "", fmt::join(known, "', '"));
  const json::value* const found = object.if_contains(name);
  if (found == nullptr) return fail(Code::kInvalidArgument, "parameters have no {}, expected {}", name, expected);
  const std::string written = found->is_string() ? std::string(found->as_string()) : std::string();
  std::erase_if(schemas, [&](const ParamsSchema* schema) { return schema->*part != written; });
  if (!schemas.empty()) return {};
  return fail(Code::kInvalidArgument, "parameters have {} {}, expected {}{}", name,
              printable(json::serialize(*found), kQuotedParameter), expected,
              known.size() > 1 ? nearest_hint(written, known) : "");
}

// Returns the schema that the document names, or the default schema for a document without names.
Result<const ParamsSchema*> schema_for(const ModuleIdentity& identity, const json::object& object) {
  const auto fallback = std::ranges::find_if(identity.schemas, &ParamsSchema::is_default);
  if (fallback != identity.schemas.end() && !object.contains("apiVersion") && !object.contains("kind"))
    return &*fallback;
  Schemas schemas;
  for (const ParamsSchema& schema : identity.schemas) schemas.push_back(&schema);
  if (auto chosen = choose(schemas, object, "apiVersion", &ParamsSchema::api_version); !chosen)
    return std::unexpected(chosen.error());
  if (auto chosen = choose(schemas, object, "kind", &ParamsSchema::kind); !chosen)
    return std::unexpected(chosen.error());
  return schemas.front();
}

// Returns the text of a string, or of a number where the field is an amount.
std::optional<std::string> text_of(const OptionDeclaration& field, const json::value& given) {
  if (given.is_string()) return std::string(given.as_string());
  if (field.quantity && given.is_number()) return json::serialize(given);
  return std::nullopt;
}

// Returns an object in a list as lines "NAME=VALUE\n", sorted by name.
Result<std::string> to_lines(const OptionDeclaration& field, const json::object& given) {
  OptionLines lines;
  for (const auto& member : given) {
    const std::string name(member.key());
    const std::string where = field.secret ? "a member" : "'" + printable(name, kQuotedParameter) + "'";
    if (name.empty() || !is_line(name) || name.find('=') != std::string::npos)
      return fail(Code::kInvalidArgument, "has an object with {}, which is not a name", where);
    const json::value& value = member.value();
    if (!value.is_string() && !value.is_bool() && !value.is_int64())
      return fail(Code::kInvalidArgument, "has {} under {} of an object, expected a string, an integer or a boolean",
                  type_name(value), where);
    if (!lines.add(name, value.is_string() ? std::string(value.as_string()) : json::serialize(value)))
      return fail(Code::kInvalidArgument, "has more than one line under {} of an object", where);
  }
  return lines.text();
}

Result<OptionValue> to_list(const OptionDeclaration& field, const json::array& given) {
  std::vector<std::string> items;
  for (const json::value& item : given) {
    const bool is_object = item.is_object() && field.objects;
    if (!item.is_string() && !is_object)
      return fail(Code::kInvalidArgument, "is a list with {}, expected strings{}", type_name(item),
                  field.objects ? " and objects" : "");
    auto text = is_object ? to_lines(field, item.as_object()) : std::string(item.as_string());
    if (!text) return std::unexpected(text.error());
    items.push_back(std::move(*text));
  }
  return OptionValue(std::move(items));
}

Result<TextMap> to_map(const OptionDeclaration& field, const json::object& given) {
  TextMap entries;
  for (const auto& member : given) {
    const std::string key(member.key());
    auto text = text_of(field, member.value());
    if (!text)
      return fail(Code::kInvalidArgument, "has {} under {}, expected {}", type_name(member.value()),
                  field.secret ? "a key" : "'" + printable(key, kQuotedParameter) + "'",
                  field.quantity ? "an amount such as 4Gi" : "a string");
    entries[key] = std::move(*text);
  }
  return entries;
}

Result<OptionValue> to_value(const OptionDeclaration& field, const json::value& given) {
  if (auto text = text_of(field, given)) return OptionValue(std::move(*text));
  if (given.is_bool()) return OptionValue(given.as_bool());
  if (given.is_int64()) return OptionValue(given.as_int64());
  if (given.is_array() && field.type != OptionType::kList) return OptionValue(std::vector<std::string>());
  if (given.is_array()) return to_list(field, given.as_array());
  if (given.is_number()) return fail(Code::kInvalidArgument, "is not an integer of 64 bits");
  if (given.is_object() && field.type != OptionType::kMap) return OptionValue(TextMap());
  if (given.is_object()) return to_map(field, given.as_object());
  return fail(Code::kInvalidArgument, "is null, which no parameter can be");
}

// Reads the members of nested objects into the fields that they are declared as: {"a": {"b": 1}} is field "a.b".
class FieldsReader {
 public:
  FieldsReader(const std::string& module, const ParamsSchema& schema, ConfigSource source)
      : module_(module), schema_(schema), source_(source) {}

  // `group` is the path of `object`: "" or "sharing.".
  Status read(const json::object& object, const std::string& group) {
    for (const auto& member : object) {
      const std::string name(member.key()), path = group + name;
      if (group.empty() && (name == "apiVersion" || name == "kind")) continue;
      if (name.find('.') != std::string::npos)
        return fail(Code::kInvalidArgument, "'{}' is not the name of a parameter; write nested objects",
                    printable(path, kQuotedParameter));
      const auto field = std::ranges::find(schema_.fields, path, &OptionDeclaration::name);
      const Status done = field != schema_.fields.end() ? read_field(*field, member.value())
                          : is_group(path)              ? read_group(path, member.value())
                                                        : unknown(group, name);
      if (!done) return done;
    }
    return {};
  }
  OptionValues values;
  std::optional<Error> flaw;  // see DecodedParams

 private:
  Status read_field(const OptionDeclaration& field, const json::value& given) {
    if (field.class_only && source_ != ConfigSource::kClass)
      return fail(
          Code::kInvalidArgument,
          "parameter '{}' may be given by a DeviceClass only; remove it from the claim, or ask the administrator "
          "of the cluster for a class that has it",
          field.name);
    const auto written = to_value(field, given);
    auto value = written ? check_value(field, *written) : written;
    if (!value && written && schema_.whole && check_value(any_of_type(field), *written)) {
      if (!flaw) flaw = wrong(field, value.error());
      return {};
    }
    if (!value) return std::unexpected(wrong(field, value.error()));
    values.entries[field.name] = {std::move(*value), true, source_};
    return {};
  }

  static Error wrong(const OptionDeclaration& field, const Error& error) {
    return {Code::kInvalidArgument, fmt::format("parameter '{}' {}", field.name, error.message)};
  }

  // Returns the field without choices and bounds.
  static OptionDeclaration any_of_type(OptionDeclaration field) {
    field.choices.clear();
    field.min = field.max = 0;
    return field;
  }

  bool is_group(const std::string& path) const {
    return std::ranges::any_of(schema_.fields,
                               [&](const OptionDeclaration& field) { return field.name.starts_with(path + "."); });
  }
  Status read_group(const std::string& path, const json::value& given) {
    if (!given.is_object())
      return fail(Code::kInvalidArgument, "parameter '{}' is {}, expected an object", path, type_name(given));
    values.entries[path] = {TextMap(), true, source_};
    return read(given.as_object(), path + ".");
  }

  // Users who write claims may have no documentation of the module, so the message lists the names of this object
  // unless one of them is close.
  Status unknown(const std::string& group, const std::string& name) const {
    std::vector<std::string> known;
    for (const OptionDeclaration& field : schema_.fields) {
      if (!field.name.starts_with(group)) continue;
      std::string sibling = field.name.substr(group.size(), field.name.find('.', group.size()) - group.size());
      if (std::ranges::find(known, sibling) == known.end()) known.push_back(std::move(sibling));
    }
    const std::string path = printable(group + name, kQuotedParameter);
    if (const auto close = nearest(name, known))
      return fail(Code::kInvalidArgument, "there is no parameter '{}' (did you mean '{}{}'?)", path, group, *close);
    return fail(Code::kInvalidArgument, "there is no parameter '{}'; {} of module '{}' has {}", path,
                schema_.kind.empty() ? "a claim" : schema_.kind, module_,
                known.empty() ? "none" : fmt::format("'{}{}'", group, fmt::join(known, "', '" + group)));
  }

  const std::string& module_;
  const ParamsSchema& schema_;
  const ConfigSource source_;
};

}  // namespace

Result<DecodedParams> decode_params(const ModuleIdentity& identity, ConfigSource source, std::string_view text) {
  const auto object = parse_parameters(text);
  if (!object) return std::unexpected(object.error());
  if (identity.schemas.empty()) return DecodedParams{};
  const auto schema = schema_for(identity, *object);
  if (!schema) return std::unexpected(schema.error());
  if ((*schema)->raw) return DecodedParams{*schema, {}, {}};
  FieldsReader reader(identity.id, **schema, source);
  if (auto read = reader.read(*object, ""); !read) return std::unexpected(read.error());
  return DecodedParams{*schema, std::move(reader.values), std::move(reader.flaw)};
}

bool takes(const ParamsSchema& schema, std::string_view device_kind) {
  return schema.device_kinds.empty() ||
         std::ranges::find(schema.device_kinds, device_kind) != schema.device_kinds.end();
}

Result<OptionValues> resolve_params(const ModuleIdentity& identity, std::string_view device_kind,
                                    const std::vector<DecodedParams>& decoded) {
  const auto first =
      std::ranges::find_if(identity.schemas, [&](const ParamsSchema& schema) { return takes(schema, device_kind); });
  const ParamsSchema* schema = first == identity.schemas.end() ? nullptr : &*first;
  if (!decoded.empty()) schema = decoded.back().schema;
  OptionValues values;
  if (schema == nullptr || schema->raw) return values;
  values.kind = schema->kind;
  for (const DecodedParams& layer : decoded) {
    if (layer.schema != schema || (schema->whole && &layer != &decoded.back())) continue;
    if (layer.flaw) return std::unexpected(*layer.flaw);
    for (const auto& [name, entry] : layer.values.entries) values.entries[name] = entry;
  }
  for (const OptionDeclaration& field : schema->fields) {
    for (std::size_t dot = field.name.find('.'); dot != std::string::npos; dot = field.name.find('.', dot + 1))
      values.entries.try_emplace(field.name.substr(0, dot), OptionValues::Entry{TextMap(), false});
    if (values.entries.contains(field.name)) continue;
    if (field.required)
      return fail(Code::kInvalidArgument, "parameter '{}' is required{} ({})", field.name,
                  field.class_only ? " of the DeviceClass" : "", field.help);
    auto value = default_value(field);
    if (!value) return within(value.error(), "default of parameter '{}'", field.name);
    values.entries[field.name] = {std::move(*value), false};
  }
  return values;
}

}  // namespace cardcage
