#include "host/serving/select.h"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "host/core/glob.h"

namespace cardcage {
namespace {

bool matches_value(const SelectValue& wanted, const std::string& text) {
  const auto* pattern = std::get_if<std::string>(&wanted);
  return pattern != nullptr && matches_glob(*pattern, text);
}
bool matches_value(const SelectValue& wanted, const SemVer& version) { return matches_value(wanted, version.text); }
bool matches_value(const SelectValue& wanted, std::int64_t number) { return wanted == SelectValue(number); }
bool matches_value(const SelectValue& wanted, bool flag) { return wanted == SelectValue(flag); }
template <class T>
bool matches_value(const SelectValue& wanted, const std::vector<T>& list) {
  return std::ranges::any_of(list, [&](const T& item) { return matches_value(wanted, item); });
}

const std::string* member_of(const Device& device, std::string_view key) {
  if (key == "kind") return &device.kind;
  if (key == "id") return &device.id;
  if (key == "name") return &device.name;
  if (key == "parent") return &device.parent_id;
  if (key == "pci") return &device.pci_bus_id;
  return nullptr;
}

bool matches_key(const std::string& key, const SelectValue& wanted, const Device& device) {
  constexpr std::string_view kAttributes = "attributes.";
  if (const std::string* text = member_of(device, key)) return matches_value(wanted, *text);
  if (!key.starts_with(kAttributes)) return false;
  const auto attribute = device.attributes.find(key.substr(kAttributes.size()));
  if (attribute == device.attributes.end()) return false;
  return std::visit([&](const auto& value) { return matches_value(wanted, value); }, attribute->second);
}

bool selects(const SelectTable& table, const Device& device) {
  return std::ranges::all_of(table, [&](const auto& entry) {
    return std::ranges::any_of(entry.second,
                               [&](const SelectValue& wanted) { return matches_key(entry.first, wanted, device); });
  });
}

}  // namespace

bool matches(const Select& select, const Device& device) {
  return std::ranges::any_of(select, [&](const SelectTable& table) { return selects(table, device); });
}

}  // namespace cardcage
