#include "host/instance/values.h"

#include "host/core/log.h"
#include "host/sinks/borrowed.h"
#include "host/sinks/lent.h"

namespace cardcage {
namespace {

const ValuesView& self_of(const cage_values* table) { return *static_cast<const ValuesView*>(table->host_data); }

}  // namespace

void ValuesView::log_undeclared(std::string_view name, const char* asked_as) const {
  log_limited(LogLevel::kWarn, module_ + "/values",
              "module asks for a value that it did not declare with this name and type",
              {{"module", module_}, {"name", printable(name, kQuoted)}, {"type", asked_as}, {"rule", "R19"}});
}

const OptionValues::Entry* ValuesView::find_entry(const char* name, const char* asked_as) const {
  const std::string_view wanted = name == nullptr ? std::string_view() : std::string_view(name);
  const auto found = values_.entries.find(wanted);
  if (found != values_.entries.end()) return &found->second;
  log_undeclared(wanted, asked_as);
  return nullptr;
}

template <class T>
const T* ValuesView::find(const char* name, const char* asked_as) const {
  const OptionValues::Entry* const entry = find_entry(name, asked_as);
  const T* const value = entry == nullptr ? nullptr : std::get_if<T>(&entry->value);
  if (entry != nullptr && value == nullptr) log_undeclared(name, asked_as);
  return value;
}

void ValuesView::lend(const std::string& name, const OptionValue& value) {
  if (const auto* items = std::get_if<std::vector<std::string>>(&value)) {
    std::vector<cage_str>& list = lists_[name];
    for (const std::string& item : *items) list.push_back(lent(item));
  }
  if (const auto* entries = std::get_if<TextMap>(&value)) {
    MapView& map = maps_[name];
    for (const auto& [key, content] : *entries) {
      map.keys.push_back(lent(key));
      map.values.push_back(lent(content));
    }
  }
}

ValuesView::ValuesView(const OptionValues& values, std::string module) : values_(values), module_(std::move(module)) {
  for (const auto& [name, entry] : values_.entries) lend(name, entry.value);
  table_ = {};
  table_.struct_size = sizeof table_;
  table_.host_data = this;
  table_.integer = [](const cage_values* table, const char* name) -> std::int64_t {
    const auto* value = self_of(table).find<std::int64_t>(name, "integer");
    return value == nullptr ? 0 : *value;
  };
  table_.boolean = [](const cage_values* table, const char* name) -> std::int32_t {
    const auto* value = self_of(table).find<bool>(name, "boolean");
    return value != nullptr && *value ? 1 : 0;
  };
  table_.string = [](const cage_values* table, const char* name) -> cage_str {
    const auto* value = self_of(table).find<std::string>(name, "string");
    return value == nullptr ? cage_str{"", 0} : lent(*value);
  };
  table_.list = [](const cage_values* table, const char* name, const cage_str** items) -> std::uint32_t {
    const ValuesView& self = self_of(table);
    if (items != nullptr) *items = nullptr;
    if (self.find<std::vector<std::string>>(name, "list") == nullptr || items == nullptr) return 0;
    const std::vector<cage_str>& list = self.lists_.find(name)->second;
    *items = list.data();
    return static_cast<std::uint32_t>(list.size());
  };
  table_.given = [](const cage_values* table, const char* name) -> std::int32_t {
    const OptionValues::Entry* const entry = self_of(table).find_entry(name, "any");
    return entry != nullptr && entry->given ? 1 : 0;
  };
  table_.map = [](const cage_values* table, const char* name, const cage_str** keys,
                  const cage_str** texts) -> std::uint32_t {
    const ValuesView& self = self_of(table);
    if (keys != nullptr) *keys = nullptr;
    if (texts != nullptr) *texts = nullptr;
    if (self.find<TextMap>(name, "map") == nullptr || keys == nullptr || texts == nullptr) return 0;
    const MapView& map = self.maps_.find(name)->second;
    *keys = map.keys.data();
    *texts = map.values.data();
    return static_cast<std::uint32_t>(map.keys.size());
  };
  table_.source = [](const cage_values* table, const char* name) -> std::int32_t {
    const OptionValues::Entry* const entry = self_of(table).find_entry(name, "any");
    if (entry == nullptr || !entry->source) return -1;
    return *entry->source == ConfigSource::kClass ? CAGE_PARAMS_CLASS : CAGE_PARAMS_CLAIM;
  };
  table_.params_kind = lent(values_.kind);
}

}  // namespace cardcage
