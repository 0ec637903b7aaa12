#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <regex>

#include "host/core/duration.h"
#include "tests/abi/raw_host.h"

namespace cardcage::raw {
namespace {

const std::regex kOptionName(R"([a-zA-Z][a-zA-Z0-9_]{0,63}(\.[a-zA-Z][a-zA-Z0-9_]{0,63}){0,7})");

Value default_of(const cage_option& option) {
  const std::string text = owned(option.default_text);
  switch (option.type) {
    case CAGE_OPTION_INT: return text.empty() ? std::int64_t{0} : std::int64_t{std::stoll(text)};
    case CAGE_OPTION_BOOL: return text == "true";
    case CAGE_OPTION_DURATION:
      return text.empty() ? std::int64_t{0} : std::int64_t{parse_duration(text).value().count()};
    case CAGE_OPTION_LIST: {
      std::vector<std::string> items;
      if (text.empty()) return items;
      const boost::json::value parsed = boost::json::parse(text);
      for (const auto& item : parsed.as_array()) items.emplace_back(item.as_string());
      return items;
    }
    case CAGE_OPTION_MAP: return Map();
    default: return text;
  }
}

}  // namespace

Values::Values(const cage_option* const* declared, std::uint32_t count, std::map<std::string, Value> given) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const cage_option& option = *declared[i];
    expect_size(option);
    EXPECT_TRUE(std::regex_match(owned(option.name), kOptionName)) << owned(option.name);
    EXPECT_FALSE(owned(option.help).empty()) << owned(option.name);
    entries_[owned(option.name)].value = default_of(option);
  }
  for (auto& [name, value] : given) {
    auto entry = entries_.find(name);
    if (entry == entries_.end() || entry->second.value.index() != value.index()) {
      ADD_FAILURE() << "the module declares no such option of this type: " << name;
      continue;
    }
    entry->second.value = std::move(value);
    entry->second.given = true;
  }
  for (auto& [name, entry] : entries_) {
    if (const auto* list = std::get_if<std::vector<std::string>>(&entry.value)) {
      for (const std::string& item : *list) entry.items.push_back(str(item));
    }
    if (const auto* map = std::get_if<Map>(&entry.value)) {
      for (const auto& [key, item] : *map) {
        entry.keys.push_back(str(key));
        entry.items.push_back(str(item));
      }
    }
  }
  values_.struct_size = sizeof values_;
  values_.host_data = this;
  values_.integer = [](const cage_values* self, const char* name) {
    return std::get<std::int64_t>(find(self, name).value);
  };
  values_.boolean = [](const cage_values* self, const char* name) {
    return std::int32_t{std::get<bool>(find(self, name).value)};
  };
  values_.string = [](const cage_values* self, const char* name) {
    return str(std::get<std::string>(find(self, name).value));
  };
  values_.list = [](const cage_values* self, const char* name, const cage_str** items) {
    *items = find(self, name).items.data();
    return static_cast<std::uint32_t>(find(self, name).items.size());
  };
  values_.given = [](const cage_values* self, const char* name) { return std::int32_t{find(self, name).given}; };
  values_.map = [](const cage_values* self, const char* name, const cage_str** keys, const cage_str** items) {
    *keys = find(self, name).keys.data();
    *items = find(self, name).items.data();
    return static_cast<std::uint32_t>(find(self, name).keys.size());
  };
  values_.source = [](const cage_values*, const char*) { return std::int32_t{-1}; };
}

Values::Values(const cage_params_schema& schema, std::map<std::string, Value> given)
    : Values(schema.fields, schema.field_count, std::move(given)) {
  expect_size(schema);
  values_.params_kind = schema.kind;
  values_.source = [](const cage_values* self, const char* name) {
    return std::int32_t{find(self, name).given ? int{CAGE_PARAMS_CLAIM} : -1};
  };
}

const Values::Entry& Values::find(const cage_values* self, const char* name) {
  return static_cast<const Values*>(self->host_data)->entries_.find(name)->second;
}

}  // namespace cardcage::raw
