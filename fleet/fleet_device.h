// Devices of all nodes, as ResourceSlices of any driver state them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fleet/deflated.h"
#include "fleet/name.h"
#include "host/apiserver/json_view.h"

namespace cardcage {

// The name of the node of devices that belong to no single node. A node of Kubernetes cannot have it.
constexpr std::string_view kSharedNode = "*";

// A device counts once, under the first of these that applies.
enum class DeviceState : std::uint8_t { kUnhealthy, kCordoned, kHeld, kFree };
constexpr std::size_t kDeviceStates = 4;
std::string_view word(DeviceState state);

// The strings of the API, ordered by strength. A kNone taint keeps no pod away.
enum class FleetEffect : std::uint8_t { kNone, kNoSchedule, kNoExecute };
std::string_view word(FleetEffect effect);

struct FleetTaint {
  Name key, value;
  FleetEffect effect = FleetEffect::kNone;
  std::string since;  // RFC 3339; may be empty

  // Returns the name by which people know the cause: the value, or the key of a taint without one.
  const Name& cause() const { return value.get().empty() ? key : value; }
  // True for the taint of `cagectl device cordon`: the device works, but an operator keeps pods away.
  bool is_cordon() const;
};
FleetTaint taint_from_json(const json::object& taint);

struct FleetDevice {
  Name name, model;
  Name node;  // kSharedNode if every node of the slice can reach it
};

// The content of one ResourceSlice. Immutable, since a pool may still show the former content of a slice.
struct FleetSlice {
  struct Tainted {
    std::uint32_t device = 0;  // index
    FleetTaint taint;
  };
  Name name;  // name of the object
  Name driver, pool;
  std::int64_t generation = 0, slice_count = 0;
  std::vector<FleetDevice> devices;
  std::vector<Tainted> taints;  // by device
  Deflated details;             // an array with one text of JSON members per device: attributes and capacity
};

// Reads resource.k8s.io v1, v1beta2 or v1beta1. Fails without name, driver or pool. Leaves out parts that cannot be
// read.
Result<FleetSlice> fleet_slice_from_json(const json::object& slice);

}  // namespace cardcage
