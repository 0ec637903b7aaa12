#include "host/model/combined_edits.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "host/model/text_rules.h"

namespace cardcage {
namespace {

constexpr std::size_t kShownValue = 64;  // bytes

struct Variable {
  const std::string* value;
  const std::string* device;
  bool is_list;
};
using Variables = std::map<std::string_view, Variable>;

// Collects the variables; a value of the device replaces the common one.
Variables variables_of(const DeviceEdits& device) {
  Variables variables;
  for (const Edits* edits : {device.own, device.common}) {
    for (const EnvVar& one : edits->env) variables.try_emplace(one.name, Variable{&one.value, &device.device, false});
    for (const EnvVar& one : edits->env_lists)
      variables.try_emplace(one.name, Variable{&one.value, &device.device, true});
  }
  return variables;
}

Status check_variables(const std::vector<DeviceEdits>& devices) {
  constexpr std::string_view kRemedy =
      "a container that gets both would see one of them only: claim the devices separately, for different containers, "
      "or have the module join the values (env_list) or name the variable after the device [R15]";
  Variables known;
  for (const DeviceEdits& device : devices) {
    for (const auto& [name, variable] : variables_of(device)) {
      const auto& [other, added] = *known.try_emplace(name, variable).first;
      if (added.is_list != variable.is_list)
        return fail(Code::kFailedPrecondition,
                    "devices '{}' and '{}': the environment variable '{}' is a list of one and a single value of the "
                    "other; {}",
                    *added.device, *variable.device, name, kRemedy);
      if (!variable.is_list && *added.value != *variable.value)
        return fail(Code::kFailedPrecondition,
                    "devices '{}' and '{}' give the environment variable '{}' the values '{}' and '{}'; {}",
                    *added.device, *variable.device, name, printable(*added.value, kShownValue),
                    printable(*variable.value, kShownValue), kRemedy);
    }
  }
  return {};
}

template <class Edit>
Status check_places(const std::vector<DeviceEdits>& devices, std::string_view kind, std::vector<Edit> Edits::* list) {
  struct Placed {
    const Edit* edit;
    const std::string* device;
  };
  std::map<std::string_view, Placed> known;
  for (const DeviceEdits& device : devices)
    for (const Edits* edits : {device.common, device.own})
      for (const Edit& edit : edits->*list)
        if (const auto other = known.try_emplace(place_of(edit), Placed{&edit, &device.device}).first->second;
            *other.edit != edit)
          return fail(
              Code::kFailedPrecondition,
              "devices '{}' and '{}' have different {} at '{}', and a container that gets both would see one of "
              "them only; claim the devices separately, for different containers",
              *other.device, device.device, kind, place_of(edit));
  return {};
}

bool is_object(std::string_view text) { return text.size() > 2 && text.front() == '{' && text.back() == '}'; }

// Programs read the members of all devices as one object.
void join(std::string& values, std::string_view value) {
  if (is_object(values) && is_object(value)) {
    values.pop_back();
    value.remove_prefix(1);
  }
  values.append(",").append(value);
}

}  // namespace

Status check_combination(const std::vector<DeviceEdits>& devices) {
  Status checked = check_variables(devices);
  if (checked) checked = check_places(devices, "device nodes", &Edits::device_nodes);
  if (checked) checked = check_places(devices, "mounts", &Edits::mounts);
  if (checked) checked = check_places(devices, "network devices", &Edits::net_devices);
  return checked;
}

std::vector<EnvVar> joined_lists(std::vector<DeviceEdits> devices) {
  std::ranges::stable_sort(devices, {}, &DeviceEdits::device);
  std::vector<EnvVar> joined;
  const auto add = [&](const Edits& edits) {
    for (const EnvVar& variable : edits.env_lists) {
      const auto known = std::ranges::find(joined, variable.name, &EnvVar::name);
      if (known == joined.end())
        joined.push_back(variable);
      else
        join(known->value, variable.value);
    }
  };
  std::set<const Edits*> common;
  for (const DeviceEdits& device : devices) {
    if (common.insert(device.common).second) add(*device.common);
    add(*device.own);
  }
  return joined;
}

}  // namespace cardcage
