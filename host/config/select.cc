// `select` of [[module.serve]]: a table of conditions, or a list of such tables.
#include <algorithm>

#include "host/config/names.h"
#include "host/config/sections.h"
#include "host/core/nearest.h"

namespace cardcage {
namespace {

constexpr std::string_view kAttribute = "attributes.";

const std::vector<std::string>& select_words() {
  static const std::vector<std::string> words = {"kind", "id", "name", "parent", "pci", "attributes"};
  return words;
}

bool is_attribute(const std::string& key) { return key.starts_with(kAttribute); }

std::optional<SelectValue> value_of(const std::string& key, const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer(); number && is_attribute(key)) return number->get();
  if (const auto* flag = node.as_boolean(); flag && is_attribute(key)) return flag->get();
  return std::nullopt;
}

// Reads the values of a list; stops at the first wrong one.
std::vector<SelectValue> read_list(const std::string& key, const toml::array& list, TableReader& table) {
  const auto refuse = [&](const toml::node& node, std::string_view message) {
    table.refuse(key, table.reading().at(node.source()), message);
    return std::vector<SelectValue>();
  };
  if (list.empty())
    return refuse(list, "the list is empty, so no device would match; write a value, or remove the condition");
  std::vector<SelectValue> values;
  for (const toml::node& item : list) {
    auto value = value_of(key, item);
    if (!value)
      return refuse(item,
                    fmt::format("expected {} in the list, found {}",
                                is_attribute(key) ? "strings, integers or booleans" : "strings", describe_value(item)));
    if (!values.empty() && value->index() != values.front().index())
      return refuse(item, fmt::format("the list has {} after {}; write values of one type, and a table for each type: "
                                      "select = [{{ ... }}, {{ ... }}]",
                                      describe_value(item), describe_value(list.front())));
    values.push_back(*std::move(value));
  }
  return values;
}

void read_condition(const std::string& key, const toml::node& node, TableReader& table, SelectTable& select) {
  if (const auto* list = node.as_array())
    select[key] = read_list(key, *list, table);
  else if (auto value = value_of(key, node))
    select[key] = {*std::move(value)};
  else
    table.refuse(key, table.reading().at(node.source()),
                 fmt::format("expected {}, found {}",
                             is_attribute(key) ? "a string, an integer, a boolean or a list of them"
                                               : "a string or a list of strings",
                             describe_value(node)));
}

void read_attribute(std::string_view name, const SourcePosition& key_position, const toml::node& node,
                    TableReader& table, SelectTable& select) {
  if (const auto valid = check_attribute_name(name); !valid)
    table.refuse("attributes", key_position, valid.error().message);
  else
    read_condition(fmt::format("{}{}", kAttribute, name), node, table, select);
}

// Attributes may be written quoted, "attributes.model" = …, or as a table, attributes.model = …
SelectTable read_table(TableReader table) {
  SelectTable select;
  Reading& reading = table.reading();
  for (const auto& word : select_words()) reading.add_known_key(table.name_of(word));
  if (!table.raw()) return select;
  for (const auto& [key, node] : *table.raw()) {
    const std::string word(key.str());
    const auto position = reading.at(key.source());
    if (is_attribute(word)) {
      read_attribute(std::string_view(word).substr(kAttribute.size()), position, node, table, select);
    } else if (word == "attributes" && node.is_table()) {
      for (const auto& [name, value] : *node.as_table())
        read_attribute(name.str(), reading.at(name.source()), value, table, select);
    } else if (word == "attributes") {
      table.refuse(word, position, "expected a table, found " + describe_value(node));
    } else if (std::ranges::find(select_words(), word) != select_words().end()) {
      read_condition(word, node, table, select);
    } else {
      reading.error(position, "unknown key '{}' in [{}]{}; attributes are written attributes.name", word, table.path(),
                    nearest_hint(word, select_words()));
    }
  }
  return select;
}

}  // namespace

Select read_select(TableReader& rule) {
  const toml::node* node = rule.raw() ? rule.raw()->get("select") : nullptr;
  if (!node || !node->is_array()) return {read_table(rule.table("select"))};
  const auto tables = rule.tables("select");
  if (node->as_array()->empty())
    rule.refuse("select", rule.position_of("select"),
                "the list is empty, so no device would match; write a table of conditions, or leave select out to take "
                "every device");
  Select select;
  for (const TableReader& table : tables) {
    if (tables.size() > 1 && table.raw()->empty())
      rule.refuse("select", table.position(),
                  "this table has no condition, so it takes every device and the other tables have no effect; remove "
                  "it, or leave select out");
    select.push_back(read_table(table));
  }
  return select;
}

}  // namespace cardcage
