// Questions of the page, and the JSON that responds to them (docs/fleet.md).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fleet/fleet_store.h"
#include "fleet/node_events.h"

namespace cardcage {

// Selects devices. An absent member selects all.
struct DeviceFilter {
  std::optional<std::string> driver, model, cause;
  std::optional<DeviceState> state;

  bool selects(const FleetPool& pool, const FleetPool::Device& device) const;
};

enum class NodeOrder { kName, kDevices, kFree, kHeld, kUnhealthy, kCordoned };

struct NodeQuery {
  DeviceFilter filter;
  std::string name_part;  // any case; empty = all nodes
  NodeOrder order = NodeOrder::kName;
  bool descending = false;
  std::size_t offset = 0, limit = 100;
};

struct DeviceQuery {
  std::size_t offset = 0, limit = 1000;
};

// The decoded value of a parameter; nothing without it.
using Parameter = std::function<std::optional<std::string>(std::string_view name)>;

// Each fails with a message for people.
Result<DeviceFilter> device_filter(const Parameter& parameter);
Result<NodeQuery> node_query(const Parameter& parameter);
Result<DeviceQuery> device_query(const Parameter& parameter);

// The state of the watches, which the store does not know.
struct Freshness {
  bool synced = false;
  std::vector<std::string> warnings;
};

std::string summary_json(const FleetStore& store, const Freshness& freshness);
std::string nodes_json(const FleetStore& store, const NodeQuery& query);
std::string heat_json(const FleetStore& store, const DeviceFilter& filter);
// Returns nothing if no slice has devices on the node.
std::optional<std::string> node_json(const FleetStore& store, const NodeEvents& events, const std::string& node,
                                     const DeviceQuery& query, const json::value& page);

}  // namespace cardcage
