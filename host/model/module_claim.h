// A claim as a module sees it, and the container edits that the module returns for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/model/claim.h"
#include "host/model/claim_status.h"
#include "host/model/device.h"
#include "host/model/edits.h"
#include "host/model/option.h"

namespace cardcage {

// One device of the claim, with the configuration that applies to it.
struct ModuleAllocation {
  std::string device_id, request, share_id;
  bool admin_access = false;
  std::map<std::string, Quantity> consumed_capacity;
  // The declared parameters as they apply to this device. Each comes from the claim, else from the class, else from
  // its default. Empty if the module declares none.
  OptionValues values;
  friend bool operator==(const ModuleAllocation&, const ModuleAllocation&) = default;
};
// The raw text, for modules that declare no parameters.
struct ModuleParams {
  ConfigSource source = ConfigSource::kClass;
  std::vector<std::string> requests;
  std::string json;
  friend bool operator==(const ModuleParams&, const ModuleParams&) = default;
};
// With the device-plugin API each device is a claim of its own: `ref` has a uid and no names (rule R15 of
// abi/RULES.md).
struct ModuleClaim {
  ClaimRef ref;
  std::vector<ModuleAllocation> allocations;
  std::vector<ModuleParams> params;  // rising precedence
  std::string state;                 // what prepare saved, at most 64 KiB
  std::uint32_t state_version = 0;
  std::string journal;         // what prepare wrote down last, at most 64 KiB
  std::string resource;        // with the device-plugin API
  bool other_boot = false;     // the claim was prepared before the node booted
  std::string module_id = {};  // of the module that prepared it; the host's own, and empty if it is not known
  friend bool operator==(const ModuleClaim&, const ModuleClaim&) = default;
};

// What prepare states of a device beside its edits.
struct DeviceStatement {
  std::vector<DeviceCondition> conditions;  // one of each type, without times
  std::string data;                         // the text of a JSON object; empty = none
  std::optional<NetworkData> network;
  std::optional<Attributes> metadata;  // described: containers with the device get a file about it
  bool has_status() const { return !conditions.empty() || !data.empty() || network; }
  friend bool operator==(const DeviceStatement&, const DeviceStatement&) = default;
};

// The result of prepare, already validated.
struct PreparedEdits {
  Edits claim;                                   // for every container of the claim
  std::vector<Edits> allocations;                // by index in ModuleClaim::allocations
  std::vector<DeviceStatement> statements = {};  // the same, or none at all
  std::string state;
  std::uint32_t state_version = 0;

  // True if no container sees the claim in them.
  bool gives_nothing() const { return claim.empty() && std::ranges::all_of(allocations, &Edits::empty); }
  friend bool operator==(const PreparedEdits&, const PreparedEdits&) = default;
};

// The result of bind: the conditions that the module states, by index in ModuleClaim::allocations.
using BindProgress = std::vector<std::vector<DeviceCondition>>;

}  // namespace cardcage
