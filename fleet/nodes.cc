// The list of nodes, and the devices of one node.
#include <algorithm>

#include "fleet/device_count.h"
#include "fleet/fleet_query.h"
#include "host/core/ascii.h"
#include "host/core/json_fields.h"

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

void write_row(std::string& out, const Row& row) {
  out += R"({"name":)";
  write_json(out, row.node->get());
  out += ',';
  row.count.write_members(out);
  out += fmt::format(R"(,"worst":"{}","drivers":)", word(row.count.worst()));
  std::vector<std::string> drivers;
  for (const FleetStore::Part& part : *row.parts)
    if (drivers.empty() || drivers.back() != part.pool->driver().get()) drivers.push_back(part.pool->driver());
  write_json(out, drivers);
  out += '}';
}

void write_text(std::string& out, std::string_view member, std::string_view text) {
  write_json(out, member);
  out += ':';
  write_json(out, text);
}

void write_taints(std::string& out, const std::vector<FleetPool::Taint>& taints) {
  out += R"("taints":[)";
  for (const auto& [taint, rule] : taints) {
    out += out.back() == '[' ? "{" : ",{";
    write_text(out, "key", taint->key.get());
    out += ',';
    write_text(out, "value", taint->value.get());
    out += ',';
    write_text(out, "effect", word(taint->effect));
    out += ',';
    write_text(out, "since", taint->since);
    out += R"(,"rule":)";
    if (rule != nullptr)
      write_json(out, rule->name);
    else
      out += "null";
    out += '}';
  }
  out += ']';
}

void write_claims(std::string& out, const std::vector<FleetPool::Holder>& holders) {
  out += R"("claims":[)";
  for (const auto& [claim, admin] : holders) {
    out += out.back() == '[' ? "{" : ",{";
    write_text(out, "namespace", claim->name_space.get());
    out += ',';
    write_text(out, "name", claim->name);
    out += R"(,"pods":)";
    write_json(out, claim->pods);
    out += fmt::format(R"(,"admin":{}}})", admin);
  }
  out += ']';
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

void write_device(std::string& out, const FleetPool& pool, const FleetPool::Device& device, Details& details) {
  out += '{';
  write_text(out, "driver", pool.driver().get());
  out += ',';
  write_text(out, "pool", pool.name().get());
  out += ',';
  write_text(out, "name", device.about().name.get());
  out += ',';
  write_text(out, "model", device.about().model.get());
  out += fmt::format(R"(,"state":"{}","held":{},)", word(device.state), device.held);
  write_taints(out, pool.taints(device));
  out += ',';
  write_claims(out, pool.holders(device));
  for (const auto& member : details.of(device)) {
    out += ',';
    write_json(out, std::string_view(member.key()));
    out += ':' + json::serialize(member.value());
  }
  out += '}';
}

void write_events(std::string& out, const NodeEvents& events, const std::string& node) {
  out += R"("events":[)";
  for (const FleetEvent& event : events.of_node(node, kMostEvents)) {
    out += out.back() == '[' ? "{" : ",{";
    write_text(out, "time", event.time);
    out += ',';
    write_text(out, "type", event.type);
    out += ',';
    write_text(out, "reason", event.reason);
    out += ',';
    write_text(out, "object", "Node/" + node);
    out += ',';
    write_text(out, "message", event.message);
    out += fmt::format(R"(,"count":{}}})", event.count);
  }
  out += ']';
}

}  // namespace

std::string nodes_json(const FleetStore& store, const NodeQuery& query) {
  const std::vector<Row> rows = rows_of(store, query);
  std::string out =
      fmt::format(R"({{"revision":{},"total":{},"offset":{},"nodes":[)", store.revision(), rows.size(), query.offset);
  const std::size_t end = std::min(rows.size(), query.offset + query.limit);
  for (std::size_t i = query.offset; i < end; ++i) {
    if (i > query.offset) out += ',';
    write_row(out, rows[i]);
  }
  out += "]}";
  return out;
}

std::optional<std::string> node_json(const FleetStore& store, const NodeEvents& events, const std::string& node,
                                     const DeviceQuery& query, const std::string& page) {
  const auto found = store.nodes().find(Name(node));
  if (found == store.nodes().end()) return std::nullopt;
  std::string out = fmt::format(R"({{"revision":{},)", store.revision());
  write_text(out, "name", node);
  out += R"(,"page":)";
  out += page.empty() ? "null" : page;
  out += R"(,"devices":[)";
  std::size_t total = 0;
  Details details;
  for (const FleetStore::Part& part : found->second) {
    for (const FleetPool::Device& device : part.devices) {
      const std::size_t number = total++;
      if (number < query.offset || number >= query.offset + query.limit) continue;
      if (out.back() != '[') out += ',';
      write_device(out, *part.pool, device, details);
    }
  }
  out += fmt::format(R"(],"total":{},"offset":{},)", total, query.offset);
  write_events(out, events, node);
  out += '}';
  return out;
}

}  // namespace cardcage
