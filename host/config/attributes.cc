// [[module.attribute]]: attributes that the operator gives to devices.
#include "host/config/fields.h"
#include "host/config/names.h"
#include "host/config/sections.h"
#include "host/model/naming.h"

namespace cardcage {
namespace {

// An attribute shared by all drivers needs a domain; a module's own attributes have none.
Status check_name(std::string_view name) {
  if (auto valid = check_attribute_name(name); !valid) return valid;
  if (name.contains('/')) return {};
  return fail(Code::kInvalidArgument, "'{}' has no domain; write one of yours before it, like \"example.com/{}\"", name,
              name);
}

std::optional<SelectValue> read_value(TableReader& table) {
  const toml::node* const node = table.raw() ? table.raw()->get("value") : nullptr;
  table.mark_known({{"value"}});
  if (node == nullptr) {
    table.refuse("value", table.position(), "missing; write a string, an integer or a boolean");
    return std::nullopt;
  }
  if (const auto* text = node->as_string()) {
    if (!text->get().empty() && text->get().size() <= kMaxAttributeText) return text->get();
    table.refuse("value", table.position_of("value"),
                 fmt::format("a string has 1 to {} bytes, this has {}", kMaxAttributeText, text->get().size()));
    return std::nullopt;
  }
  if (const auto* number = node->as_integer()) return number->get();
  if (const auto* flag = node->as_boolean()) return flag->get();
  table.refuse("value", table.position_of("value"),
               "expected a string, an integer or a boolean, found " + describe_value(*node));
  return std::nullopt;
}

}  // namespace

AttributeConfig read_attribute(TableReader table) {
  AttributeConfig attribute;
  required(text(check_name), "write the attribute's name, like \"example.com/rail\"")(table, "name", attribute.name);
  if (auto value = read_value(table)) attribute.value = *std::move(value);
  attribute.select = read_select(table);
  table.refuse_unknown_keys();
  return attribute;
}

}  // namespace cardcage
