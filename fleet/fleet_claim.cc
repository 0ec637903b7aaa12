#include "fleet/fleet_claim.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxResults = 1024, kMaxPods = 256;  // the API allows 32 and 256

}  // namespace

Result<FleetClaim> fleet_claim_from_json(const json::object& claim) {
  const json::object& metadata = object_at(claim, "metadata");
  FleetClaim read{.name_space = Name(std::string(text_at(metadata, "namespace"))),
                  .name = std::string(text_at(metadata, "name")),
                  .pods = {},
                  .devices = {}};
  if (read.name.empty() || read.name_space.get().empty())
    return fail(Code::kInvalidArgument, "a ResourceClaim has no name or namespace");
  const json::object& status = object_at(claim, "status");
  for (const json::value& item : array_at(object_at(object_at(status, "allocation"), "devices"), "results")) {
    const json::object& result = as_object(item);
    if (read.devices.size() == kMaxResults) break;
    read.devices.push_back({.driver = Name(std::string(text_at(result, "driver"))),
                            .pool = Name(std::string(text_at(result, "pool"))),
                            .name = Name(std::string(text_at(result, "device"))),
                            .admin = bool_at(result, "adminAccess")});
  }
  if (read.devices.empty()) return read;
  for (const json::value& consumer : array_at(status, "reservedFor"))
    if (text_at(as_object(consumer), "resource") == "pods" && read.pods.size() < kMaxPods)
      read.pods.emplace_back(text_at(as_object(consumer), "name"));
  read.devices.shrink_to_fit();
  read.pods.shrink_to_fit();
  return read;
}

bool FleetTaintRule::matches(const Name& of_driver, const Name& of_pool) const {
  return selects && evaluable && (driver.get().empty() || driver == of_driver) &&
         (pool.get().empty() || pool == of_pool);
}

Result<FleetTaintRule> fleet_taint_rule_from_json(const json::object& rule) {
  const json::object& spec = object_at(rule, "spec");
  const json::object& selector = object_at(spec, "deviceSelector");
  FleetTaintRule read{.name = std::string(text_at(object_at(rule, "metadata"), "name")),
                      .taint = taint_from_json(object_at(spec, "taint")),
                      .selects = spec.contains("deviceSelector"),
                      .evaluable = !selector.contains("deviceClassName") && !selector.contains("selectors"),
                      .driver = Name(std::string(text_at(selector, "driver"))),
                      .pool = Name(std::string(text_at(selector, "pool"))),
                      .device = Name(std::string(text_at(selector, "device")))};
  if (read.name.empty()) return fail(Code::kInvalidArgument, "a DeviceTaintRule has no name");
  return read;
}

}  // namespace cardcage
