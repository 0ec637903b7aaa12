// The list of nodes, and the devices of one node.
#include <algorithm>

#include "fleet/device_count.h"
#include "fleet/fleet_query.h"
#include "host/core/ascii.h"

namespace cardcage {
namespace {

constexpr std::size_t kMostEvents = 32;

struct Row {
  const Name* node = nullptr;
  const std::vector<FleetStore::Part>* parts = nullptr;
  DeviceCount count;
};

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  return !std::ranges::search(text, part, {}, to_lower, to_lower).empty() || part.empty();
}

std::uint32_t figure(const DeviceCount& count, NodeOrder order) {
  switch (order) {
    case NodeOrder::kName: return 0;
    case NodeOrder::kDevices: return count.total();
    case NodeOrder::kFree: return count[DeviceState::kFree];
    case NodeOrder::kHeld: return count[DeviceState::kHeld];
    case NodeOrder::kUnhealthy: return count[DeviceState::kUnhealthy];
    case NodeOrder::kCordoned: break;
  }
  return count[DeviceState::kCordoned];
}

// In the order of the query.
std::vector<Row> rows_of(const FleetStore& store, const NodeQuery& query) {
  std::vector<Row> rows;
  for (const auto& [node, parts] : store.nodes()) {
    if (!contains_ignoring_case(node.get(), query.name_part)) continue;
    Row row{&node, &parts, {}};
    for (const FleetStore::Part& part : parts)
      for (const FleetPool::Device& device : part.devices)
        if (query.filter.selects(*part.pool, device)) row.count.add(device.state);
    if (row.count.total() > 0) rows.push_back(row);
  }
  if (query.order == NodeOrder::kName) {
    if (query.descending) std::ranges::reverse(rows);
    return rows;
  }
  // Nodes with equal figures stay in the order of their names.
  std::ranges::stable_sort(rows, [&query](const Row& a, const Row& b) {
    const std::uint32_t left = figure(a.count, query.order), right = figure(b.count, query.order);
    return query.descending ? left > right : left < right;
  });
  return rows;
}

json::object row_json(const Row& row) {
  json::object object{{"name", row.node->get()}};
  row.count.add_to(object);
  object["worst"] = word(row.count.worst());
  json::array& drivers = object["drivers"].emplace_array();
  for (const FleetStore::Part& part : *row.parts) {
    const std::string& driver = part.pool->driver();
    if (drivers.empty() || drivers.back().as_string() != driver) drivers.emplace_back(driver);
  }
  return object;
}

json::array taints_json(const std::vector<FleetPool::Taint>& taints) {
  json::array array;
  for (const auto& [taint, rule] : taints)
    array.push_back({{"key", taint->key.get()},
                     {"value", taint->value.get()},
                     {"effect", word(taint->effect)},
                     {"since", taint->since},
                     {"rule", rule != nullptr ? json::value(rule->name) : json::value()}});
  return array;
}

json::array claims_json(const std::vector<FleetPool::Holder>& holders) {
  json::array array;
  for (const auto& [claim, admin] : holders)
    array.push_back({{"namespace", claim->name_space.get()},
                     {"name", claim->name},
                     {"pods", json::array(claim->pods.begin(), claim->pods.end())},
                     {"admin", admin}});
  return array;
}

// Keeps the details of the slice that was read last, since neighbours in the list mostly share it.
class Details {
 public:
  // The members "attributes" and "capacity" of the device.
  json::object of(const FleetPool::Device& device) {
    if (device.slice != slice_) {
      slice_ = device.slice;
      auto parsed = parse_json(slice_->details.text(), "the details of devices");
      all_ = parsed && parsed->is_array() ? std::move(parsed->get_array()) : json::array();
    }
    return device.index < all_.size() ? as_object(all_[device.index]) : json::object();
  }

 private:
  std::shared_ptr<const FleetSlice> slice_;
  json::array all_;
};

json::object device_json(const FleetPool& pool, const FleetPool::Device& device, Details& details) {
  json::object object{{"driver", pool.driver().get()},
                      {"pool", pool.name().get()},
                      {"name", device.about().name.get()},
                      {"model", device.about().model.get()},
                      {"state", word(device.state)},
                      {"held", device.held},
                      {"taints", taints_json(pool.taints(device))},
                      {"claims", claims_json(pool.holders(device))}};
  for (const auto& member : details.of(device)) object.emplace(member.key(), member.value());
  return object;
}

json::array events_json(const NodeEvents& events, const std::string& node) {
  json::array array;
  for (const FleetEvent& event : events.of_node(node, kMostEvents))
    array.push_back({{"time", event.time},
                     {"type", event.type},
                     {"reason", event.reason},
                     {"object", "Node/" + node},
                     {"message", event.message},
                     {"count", event.count}});
  return array;
}

}  // namespace

std::string nodes_json(const FleetStore& store, const NodeQuery& query) {
  const std::vector<Row> rows = rows_of(store, query);
  json::array nodes;
  const std::size_t end = std::min(rows.size(), query.offset + query.limit);
  for (std::size_t i = query.offset; i < end; ++i) nodes.push_back(row_json(rows[i]));
  return json::serialize(json::object{
      {"revision", store.revision()}, {"total", rows.size()}, {"offset", query.offset}, {"nodes", std::move(nodes)}});
}

std::optional<std::string> node_json(const FleetStore& store, const NodeEvents& events, const std::string& node,
                                     const DeviceQuery& query, const json::value& page) {
  const auto found = store.nodes().find(Name(node));
  if (found == store.nodes().end()) return std::nullopt;
  json::array devices;
  std::size_t total = 0;
  Details details;
  for (const FleetStore::Part& part : found->second) {
    for (const FleetPool::Device& device : part.devices) {
      const std::size_t number = total++;
      if (number >= query.offset && number < query.offset + query.limit)
        devices.push_back(device_json(*part.pool, device, details));
    }
  }
  return json::serialize(json::object{{"revision", store.revision()},
                                      {"name", node},
                                      {"page", page},
                                      {"devices", std::move(devices)},
                                      {"total", total},
                                      {"offset", query.offset},
                                      {"events", events_json(events, node)}});
}

}  // namespace cardcage
