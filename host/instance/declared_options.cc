#include "host/instance/declared_parts.h"

#include <algorithm>

#include "host/config/options.h"
#include "host/instance/listed_words.h"
#include "host/model/naming.h"
#include "host/sinks/borrowed.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxDeclarations = 128, kMaxChoices = 64, kMaxHelp = 256, kMaxSchemas = 16, kMaxKinds = 64,
                      kMaxSchemaName = 128;
constexpr std::uint32_t kFlags = CAGE_OPTION_REQUIRED | CAGE_OPTION_SECRET | CAGE_OPTION_LIVE | CAGE_OPTION_CLASS_ONLY |
                                 CAGE_OPTION_QUANTITY | CAGE_OPTION_OBJECTS;
constexpr std::uint32_t kSchemaFlags = CAGE_SCHEMA_WHOLE | CAGE_SCHEMA_DEFAULT | CAGE_SCHEMA_RAW;

enum class Use : std::uint8_t { kOption, kParam };

Result<std::vector<std::string>> copy_choices(const cage_option& option, const std::string& name) {
  const auto given = listed_words(option.choices, option.choice_count, kMaxChoices, "choices", name);
  if (!given) return std::unexpected(given.error());
  std::vector<std::string> choices;
  for (const cage_str& choice : *given) {
    auto text = ruled_text(choice, is_line, "choice", "one line of UTF-8");
    if (!text) return std::unexpected(text.error());
    choices.push_back(std::move(*text));
  }
  return choices;
}

// Checks the members of a declaration against each other.
Status check_consistency(const OptionDeclaration& declaration) {
  const bool has_choices = !declaration.choices.empty();
  if (has_choices && declaration.type != OptionType::kString && declaration.type != OptionType::kList)
    return fail(Code::kInvalidArgument, "choices are for strings and lists");
  const bool has_bounds = declaration.min != 0 || declaration.max != 0;
  if (declaration.quantity && declaration.type != OptionType::kMap &&
      (declaration.type != OptionType::kString || has_choices || has_bounds))
    return fail(Code::kInvalidArgument, "CAGE_OPTION_QUANTITY is for maps, and for strings without choices and bounds");
  if (declaration.objects && (declaration.type != OptionType::kList || has_choices))
    return fail(Code::kInvalidArgument, "CAGE_OPTION_OBJECTS is for lists without choices");
  if (declaration.min > declaration.max)
    return fail(Code::kInvalidArgument, "min {} is above max {}", declaration.min, declaration.max);
  if (declaration.required && !declaration.default_text.empty())
    return fail(Code::kInvalidArgument, "it is required and has a default: drop one of them");
  if (declaration.required || declaration.default_text.empty()) return {};
  if (auto value = default_value(declaration); !value) return within(value.error(), "its default");
  return {};
}

// Options come from TOML, which has one table, one author and no maps.
Status check_use(const OptionDeclaration& declaration, Use use) {
  if (use == Use::kParam) return {};
  if (declaration.type == OptionType::kMap)
    return fail(Code::kInvalidArgument, "CAGE_OPTION_MAP is for parameters: declare a list of strings");
  if (declaration.class_only) return fail(Code::kInvalidArgument, "CAGE_OPTION_CLASS_ONLY is for parameters: drop it");
  if (declaration.quantity) return fail(Code::kInvalidArgument, "CAGE_OPTION_QUANTITY is for parameters: drop it");
  return {};
}

Result<std::string> copy_name(cage_str name, Use use) {
  if (use == Use::kParam)
    return ruled_text(name, is_param_path, "name",
                      "a letter followed by letters, digits and underscores, 64 at most, or a path of 8 such names and "
                      "128 characters at most");
  return ruled_text(name, is_option_name, "name", "a letter followed by letters, digits and underscores, 32 at most");
}

Result<OptionDeclaration> copy_declaration(const cage_option* given, Use use) {
  const auto option = adopt(given, "cage_option");
  if (!option) return std::unexpected(option.error());
  OptionDeclaration declaration;
  auto name = copy_name(option->name, use);
  if (!name) return std::unexpected(name.error());
  declaration.name = std::move(*name);
  if (option->type < CAGE_OPTION_STRING || option->type > CAGE_OPTION_MAP)
    return fail(Code::kInvalidArgument, "'{}' has the unknown type {} [R16]", declaration.name, option->type);
  declaration.type = static_cast<OptionType>(option->type);
  if (const std::uint32_t unknown = option->flags & ~kFlags; unknown != 0)
    return fail(Code::kInvalidArgument, "'{}' has the unknown flags 0x{:x} [R16]", declaration.name, unknown);
  declaration.required = (option->flags & CAGE_OPTION_REQUIRED) != 0;
  declaration.secret = (option->flags & CAGE_OPTION_SECRET) != 0;
  declaration.live = (option->flags & CAGE_OPTION_LIVE) != 0;
  declaration.class_only = (option->flags & CAGE_OPTION_CLASS_ONLY) != 0;
  declaration.quantity = (option->flags & CAGE_OPTION_QUANTITY) != 0;
  declaration.objects = (option->flags & CAGE_OPTION_OBJECTS) != 0;
  declaration.min = option->min;
  declaration.max = option->max;

  const auto one_line = [](std::string_view text) { return text.size() <= kMaxHelp && is_line(text); };
  auto help = ruled_text(option->help, one_line, "help", "one line of UTF-8 of at most 256 bytes");
  auto default_text = ruled_text(option->default_text, is_line, "default_text", "one line of UTF-8");
  auto choices = copy_choices(*option, declaration.name);
  if (!help) return within(help.error(), "'{}'", declaration.name);
  if (!default_text) return within(default_text.error(), "'{}'", declaration.name);
  if (!choices) return within(choices.error(), "'{}'", declaration.name);
  declaration.help = std::move(*help);
  declaration.default_text = std::move(*default_text);
  declaration.choices = std::move(*choices);
  if (auto checked = check_use(declaration, use); !checked) return within(checked.error(), "'{}'", declaration.name);
  if (auto checked = check_consistency(declaration); !checked) return within(checked.error(), "'{}'", declaration.name);
  return declaration;
}

Result<std::vector<OptionDeclaration>> copy_declarations(const cage_option* const* given, std::uint32_t count,
                                                         std::string_view what, Use use) {
  const auto items = items_of(given, count, kMaxDeclarations, what);
  if (!items) return std::unexpected(items.error());
  std::vector<OptionDeclaration> declarations;
  for (const cage_option* item : *items) {
    auto declaration = copy_declaration(item, use);
    if (!declaration) return within(declaration.error(), "entry {} of {}", declarations.size(), what);
    if (std::ranges::find(declarations, declaration->name, &OptionDeclaration::name) != declarations.end())
      return fail(Code::kInvalidArgument, "{} has '{}' twice", what, declaration->name);
    declarations.push_back(std::move(*declaration));
  }
  return declarations;
}

// A field is a value or an object with fields, not both.
Status check_paths(const std::vector<OptionDeclaration>& fields) {
  for (const OptionDeclaration& field : fields)
    for (const OptionDeclaration& inner : fields)
      if (inner.name.starts_with(field.name + "."))
        return fail(Code::kInvalidArgument, "'{}' is a value and, for '{}', an object: rename one of them", field.name,
                    inner.name);
  return {};
}

Result<std::vector<OptionDeclaration>> copy_fields(const cage_option* const* given, std::uint32_t count,
                                                   std::string_view what) {
  auto fields = copy_declarations(given, count, what, Use::kParam);
  if (!fields) return fields;
  if (auto checked = check_paths(*fields); !checked) return within(checked.error(), "{}", what);
  return fields;
}

// Refuses declarations that would mean nothing in a schema.
Status check_field(const OptionDeclaration& field) {
  if (field.live)
    return fail(Code::kInvalidArgument, "'{}': CAGE_OPTION_LIVE is for options: each claim has values of its own",
                field.name);
  const std::string first = field.name.substr(0, field.name.find('.'));
  if (first == "apiVersion" || first == "kind")
    return fail(Code::kInvalidArgument, "'{}': parameters name their schema by '{}', so no field may have that name",
                field.name, first);
  return {};
}

Result<std::vector<std::string>> copy_kinds(const cage_params_schema& schema, const std::string& kind_of_params) {
  const auto given =
      listed_words(schema.device_kinds, schema.device_kind_count, kMaxKinds, "device_kinds", kind_of_params);
  if (!given) return std::unexpected(given.error());
  std::vector<std::string> kinds;
  for (const cage_str& one : *given) {
    auto kind = ruled_text(one, is_dns_label, "device kind", "a word of lower-case letters, digits and '-'");
    if (!kind) return std::unexpected(kind.error());
    if (std::ranges::find(kinds, *kind) != kinds.end())
      return fail(Code::kInvalidArgument, "device_kinds has '{}' twice", *kind);
    kinds.push_back(std::move(*kind));
  }
  return kinds;
}

Result<ParamsSchema> copy_schema(const cage_params_schema* given, bool is_only) {
  const auto schema = adopt(given, "cage_params_schema");
  if (!schema) return std::unexpected(schema.error());
  const auto is_name = [is_only](std::string_view text) {
    return (is_only || !text.empty()) && text.size() <= kMaxSchemaName && is_line(text);
  };
  const auto rule = "one line of 1 to 128 bytes of UTF-8";
  auto api_version = ruled_text(schema->api_version, is_name, "api_version", rule);
  if (!api_version) return std::unexpected(api_version.error());
  auto kind = ruled_text(schema->kind, is_name, "kind", rule);
  if (!kind) return std::unexpected(kind.error());
  auto fields = copy_fields(schema->fields, schema->field_count, "fields");
  if (!fields) return within(fields.error(), "'{}'", *kind);
  for (const OptionDeclaration& field : *fields)
    if (auto checked = check_field(field); !checked) return within(checked.error(), "'{}'", *kind);
  auto kinds = copy_kinds(*schema, *kind);
  if (!kinds) return within(kinds.error(), "'{}'", *kind);
  if (const std::uint32_t unknown = schema->flags & ~kSchemaFlags; unknown != 0)
    return fail(Code::kInvalidArgument, "'{}' has the unknown flags 0x{:x} [R16]", *kind, unknown);
  const bool raw = (schema->flags & CAGE_SCHEMA_RAW) != 0;
  if (raw && schema->field_count > 0)
    return fail(Code::kInvalidArgument, "'{}' has CAGE_SCHEMA_RAW and fields: drop one of them", *kind);
  return ParamsSchema{.api_version = std::move(*api_version),
                      .kind = std::move(*kind),
                      .fields = std::move(*fields),
                      .device_kinds = std::move(*kinds),
                      .raw = raw,
                      .whole = (schema->flags & CAGE_SCHEMA_WHOLE) != 0,
                      .is_default = (schema->flags & CAGE_SCHEMA_DEFAULT) != 0};
}

}  // namespace

Result<std::vector<OptionDeclaration>> copy_options(const cage_module& table) {
  return copy_declarations(table.options, table.option_count, "options", Use::kOption);
}

Result<std::vector<ParamsSchema>> copy_schemas(const cage_module& table) {
  std::vector<ParamsSchema> schemas;
  const auto given = items_of(table.schemas, table.schema_count, kMaxSchemas, "schemas");
  if (!given) return std::unexpected(given.error());
  for (const cage_params_schema* one : *given) {
    auto schema = copy_schema(one, given->size() == 1);
    if (!schema) return within(schema.error(), "entry {} of schemas", schemas.size());
    for (const ParamsSchema& other : schemas) {
      if (other.api_version == schema->api_version && other.kind == schema->kind)
        return fail(Code::kInvalidArgument, "schemas has {} {} twice", schema->api_version, schema->kind);
      if (other.is_default && schema->is_default)
        return fail(Code::kInvalidArgument, "{} and {} both have CAGE_SCHEMA_DEFAULT: drop one", other.kind,
                    schema->kind);
    }
    schemas.push_back(std::move(*schema));
  }
  return schemas;
}

}  // namespace cardcage
