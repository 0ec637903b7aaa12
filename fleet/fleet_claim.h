// Claims of all namespaces that hold devices, and rules of administrators that taint devices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fleet/fleet_device.h"

namespace cardcage {

struct FleetClaim {
  struct Device {
    Name driver, pool, name;
    bool admin = false;  // admin access: observes the device and holds nothing
  };
  Name name_space;
  std::string name;
  std::vector<std::string> pods;  // that it is reserved for
  std::vector<Device> devices;    // empty unless it is allocated
};

// Reads any version of resource.k8s.io. Fails without name and namespace.
Result<FleetClaim> fleet_claim_from_json(const json::object& claim);

// A DeviceTaintRule.
struct FleetTaintRule {
  std::string name;
  FleetTaint taint;
  bool selects = false;       // a rule without a selector taints nothing
  bool evaluable = true;      // false if it selects by class or CEL, as alpha versions of the API could
  Name driver, pool, device;  // empty = any

  bool matches(const Name& of_driver, const Name& of_pool) const;
  bool matches(const Name& of_device) const { return device.get().empty() || device == of_device; }
};

Result<FleetTaintRule> fleet_taint_rule_from_json(const json::object& rule);

}  // namespace cardcage
