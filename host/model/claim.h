// The parts of a ResourceClaim that a node driver uses (resource.k8s.io, status.allocation).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/model/binding.h"
#include "host/model/quantity.h"

namespace cardcage {

// The name of a claim in every call of the kubelet.
struct ClaimRef {
  std::string name_space, name, uid;
  friend bool operator==(const ClaimRef&, const ClaimRef&) = default;
};

// One device of a claim: one entry of status.allocation.devices.results.
struct Allocation {
  std::string request;  // "main" or "main/sub"
  std::string driver, pool, device;
  bool admin_access = false;
  std::string share_id;  // empty = none
  std::map<std::string, Quantity> consumed_capacity;
  Binding binding = {};  // conditions that a pod waits for; the ledger does not store them
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

enum class ConfigSource : std::uint8_t { kClass, kClaim };

// One entry of status.allocation.devices.config, in the order of the API.
struct OpaqueConfig {
  ConfigSource source = ConfigSource::kClass;
  std::vector<std::string> requests;  // empty = all; "main" or "main/sub"
  std::string driver;                 // empty if this host does not know the entry's type
  std::string parameters;             // JSON text
  friend bool operator==(const OpaqueConfig&, const OpaqueConfig&) = default;
};

struct Claim {
  ClaimRef ref;
  std::string pod_claim_name;  // name in the pod's spec, for a claim made from a template; otherwise empty
  bool allocated = false;
  std::vector<Allocation> allocations;  // allocations of all drivers, not only ours
  std::vector<OpaqueConfig> configs;
  std::string allocated_at = {};               // set if a pod waits for devices; RFC 3339
  std::vector<std::string> reserved_for = {};  // UIDs of the pods and pod groups that may use it
  friend bool operator==(const Claim&, const Claim&) = default;
};

// One device of a response to the kubelet (its Device message).
struct PreparedDevice {
  std::vector<std::string> request_names;  // base names
  std::string pool, device;
  std::vector<std::string> cdi_device_ids;  // the device's own id first: the kubelet uses it as resourceID
  std::string share_id;                     // empty = none
  friend bool operator==(const PreparedDevice&, const PreparedDevice&) = default;
};

// Returns the request that a container names: "main" for "main/sub".
inline std::string base_request(const std::string& request) { return request.substr(0, request.find('/')); }

}  // namespace cardcage
