#include "host/apiserver/claim_status_json.h"

#include <algorithm>

#include "host/apiserver/object_name.h"
#include "host/core/timestamp.h"
#include "host/model/device_json.h"

namespace cardcage {
namespace {

std::string_view to_string(DeviceCondition::Status status) {
  switch (status) {
    case DeviceCondition::Status::kFalse: return "False";
    case DeviceCondition::Status::kTrue: return "True";
    case DeviceCondition::Status::kUnknown: break;
  }
  return "Unknown";
}

json::object to_json(const DeviceCondition& condition) {
  return {{"type", condition.type},
          {"status", to_string(condition.status)},
          {"reason", condition.reason},
          {"message", condition.message},
          {"lastTransitionTime", timestamp(condition.since)}};
}

bool is_entry_of(const json::value& entry, const DeviceStatus& device) {
  const auto& object = as_object(entry);
  return text_at(object, "driver") == device.driver && text_at(object, "pool") == device.pool &&
         text_at(object, "device") == device.device && text_at(object, "shareID") == device.share_id;
}

}  // namespace

Status check_claim_status(const ClaimRef& claim, const std::string& driver, const std::vector<DeviceStatus>& devices) {
  if (auto valid = check_namespace(claim.name_space); !valid) return valid;
  if (auto valid = check_object_name(claim.name, "ResourceClaim name"); !valid) return valid;
  if (auto valid = check_object_name(driver, "driver name"); !valid) return valid;
  for (const DeviceStatus& device : devices)
    if (device.driver != driver)
      return fail(Code::kInvalidArgument, "driver '{}' cannot state anything of device '{}' of driver '{}'", driver,
                  device.device, device.driver);
  return {};
}

Result<json::array> claim_status_to_json(const std::vector<DeviceStatus>& devices) {
  json::array entries;
  for (const DeviceStatus& device : devices) {
    json::object entry{{"driver", device.driver}, {"pool", device.pool}, {"device", device.device}};
    if (!device.share_id.empty()) entry["shareID"] = device.share_id;
    // Present even if empty, as the types of the API write it.
    json::array& conditions = entry["conditions"].emplace_array();
    for (const DeviceCondition& condition : device.conditions) conditions.push_back(to_json(condition));
    if (!device.data.empty()) {
      auto data = parse_json(device.data, fmt::format("the data of device '{}'", device.device));
      if (!data) return std::unexpected(data.error());
      entry["data"] = std::move(*data);
    }
    if (device.network) entry["networkData"] = network_json(*device.network);
    entries.push_back(std::move(entry));
  }
  return entries;
}

json::object claim_status_patch(const ClaimRef& claim, json::array devices, ResourceApi version) {
  json::object patch{
      {"apiVersion", fmt::format("resource.k8s.io/{}", to_string(version))},
      {"kind", "ResourceClaim"},
      {"metadata", json::object{{"namespace", claim.name_space}, {"name", claim.name}, {"uid", claim.uid}}}};
  if (!devices.empty()) patch["status"] = json::object{{"devices", std::move(devices)}};
  return patch;
}

bool has_entries(const json::array& stored, const std::vector<DeviceStatus>& devices) {
  return std::ranges::all_of(devices, [&](const DeviceStatus& device) {
    return std::ranges::any_of(stored, [&](const json::value& entry) { return is_entry_of(entry, device); });
  });
}

}  // namespace cardcage
