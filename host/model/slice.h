// A ResourceSlice as Cardcage publishes it. The versions of the API differ only in its JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/model/device.h"

namespace cardcage {

struct DeviceTaint {
  std::string key, value;
  std::string effect;      // "None", "NoSchedule", "NoExecute"
  std::string time_added;  // RFC 3339; set by the server
  friend bool operator==(const DeviceTaint&, const DeviceTaint&) = default;
};

struct SliceDevice : DeviceTraits {
  std::string name;
  std::vector<DeviceTaint> taints;
  friend bool operator==(const SliceDevice&, const SliceDevice&) = default;
};

struct SlicePool {
  std::string name;
  std::int64_t generation = 0;
  std::int64_t slice_count = 0;
  friend bool operator==(const SlicePool&, const SlicePool&) = default;
};

struct Slice {
  // metadata; the server assigns name, uid and resource_version
  std::string name, uid, resource_version;
  std::string generate_name;
  std::string owner_node_uid;  // ownerReference to the Node; empty = none

  std::string driver, node_name;
  SlicePool pool;
  std::vector<SliceDevice> devices;
  std::map<std::string, std::map<std::string, Quantity>> shared_counters;
  std::vector<std::string> skip_node_operations;  // calls of the driver that the kubelet leaves out (KEP-5945)
};

}  // namespace cardcage
