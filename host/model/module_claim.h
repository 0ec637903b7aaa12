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
  // The declared parameters that apply to this device. A value comes from the claim, else from the class, else from the
  // default. Empty if the module declares none.
  OptionValues values;
  friend bool operator==(const ModuleAllocation&, const ModuleAllocation&) = default;
};
// The raw parameter text, for modules that declare no parameters.
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
  std::string state;                 // saved by prepare, at most 64 KiB
  std::uint32_t state_version = 0;
  std::string journal;         // last journal entry of prepare, at most 64 KiB
  std::string resource;        // set with the device-plugin API
  bool other_boot = false;     // the claim was prepared before the node booted
  std::string module_id = {};  // module that prepared the claim; set by the host, empty if unknown
  friend bool operator==(const ModuleClaim&, const ModuleClaim&) = default;
};

// The statement of prepare about a device, beside its edits.
struct DeviceStatement {
  std::vector<DeviceCondition> conditions;  // one per type, without times
  std::string data;                         // a JSON object as text; empty = none
  std::optional<NetworkData> network;
  std::optional<Attributes> metadata;  // if set, containers with the device get a metadata file
  friend bool operator==(const DeviceStatement&, const DeviceStatement&) = default;
};

// The result of prepare, already validated.
struct PreparedEdits {
  Edits claim;                                   // applies to every container of the claim
  std::vector<Edits> allocations;                // by index of ModuleClaim::allocations
  std::vector<DeviceStatement> statements = {};  // by the same index, or empty
  std::string state;
  std::uint32_t state_version = 0;

  // Returns true if the edits change no container.
  bool gives_nothing() const { return claim.empty() && std::ranges::all_of(allocations, &Edits::empty); }
  friend bool operator==(const PreparedEdits&, const PreparedEdits&) = default;
};

// The result of bind: the conditions that the module states, by index of ModuleClaim::allocations.
using BindProgress = std::vector<std::vector<DeviceCondition>>;

}  // namespace cardcage
