// Figures per driver and model, causes, and the map of all nodes.
#include <algorithm>
#include <map>
#include <tuple>

#include "fleet/device_count.h"
#include "fleet/fleet_query.h"
#include "host/core/json_fields.h"

namespace cardcage {
namespace {

constexpr std::size_t kMostModels = 500, kMostCauses = 50, kMostNamed = 3;
// Values of the map beyond the percentages.
constexpr int kCordonedNode = 101, kUnhealthyNode = 102;

struct ModelFigures {
  DeviceCount devices;
  std::uint32_t nodes = 0;
  const Name* last_node = nullptr;  // counted in `nodes`
};

struct CauseFigures {
  std::uint32_t devices = 0, nodes = 0;
  const Name* last_node = nullptr;
};

struct ModelLess {
  using Model = std::pair<Name, Name>;  // driver, model
  bool operator()(const Model& a, const Model& b) const {
    if (a.first != b.first) return a.first.get() < b.first.get();
    return a.second != b.second && natural_less(a.second.get(), b.second.get());
  }
};

struct Summary {
  DeviceCount devices;
  std::map<ModelLess::Model, ModelFigures, ModelLess> models;
  std::map<Name, CauseFigures, ByAddress> causes;

  void add(const Name& node, const FleetPool& pool, const FleetPool::Device& device);
};

// Nodes come one after the other, so a node is new if it is not the last one.
template <class Figures>
void count_node(Figures& figures, const Name& node) {
  if (figures.last_node != &node) ++figures.nodes;
  figures.last_node = &node;
}

void Summary::add(const Name& node, const FleetPool& pool, const FleetPool::Device& device) {
  devices.add(device.state);
  ModelFigures& model = models[{pool.driver(), device.about().model}];
  model.devices.add(device.state);
  count_node(model, node);
  if (device.state != DeviceState::kUnhealthy && device.state != DeviceState::kCordoned) return;
  std::vector<Name> counted;  // a device counts once per cause
  for (const auto& [taint, rule] : pool.taints(device)) {
    if (taint->effect == FleetEffect::kNone || std::ranges::find(counted, taint->cause()) != counted.end()) continue;
    counted.push_back(taint->cause());
    CauseFigures& cause = causes[taint->cause()];
    ++cause.devices;
    count_node(cause, node);
  }
}

std::vector<std::string> warnings_of(const FleetStore& store) {
  std::vector<std::string> warnings;
  const auto incomplete = store.incomplete_pools();
  for (std::size_t i = 0; i < std::min(incomplete.size(), kMostNamed); ++i)
    warnings.push_back(
        fmt::format("pool '{}' of driver '{}' lacks slices of its newest generation; its former devices "
                    "are shown",
                    incomplete[i]->name().get(), incomplete[i]->driver().get()));
  if (incomplete.size() > kMostNamed)
    warnings.push_back(fmt::format("{} more pools lack slices", incomplete.size() - kMostNamed));
  for (const auto& [name, rule] : store.rules())
    if (!rule.evaluable && warnings.size() < 2 * kMostNamed)
      warnings.push_back(
          fmt::format("DeviceTaintRule '{}' selects devices by class or CEL; its taint is not shown", name));
  return warnings;
}

json::array causes_json(const Summary& summary) {
  std::vector<std::pair<std::string, CauseFigures>> causes;
  for (const auto& [name, figures] : summary.causes) causes.emplace_back(name.get(), figures);
  std::ranges::sort(causes, [](const auto& a, const auto& b) {
    return std::tuple(b.second.devices, a.first) < std::tuple(a.second.devices, b.first);
  });
  if (causes.size() > kMostCauses) causes.resize(kMostCauses);
  json::array array;
  for (const auto& [name, figures] : causes)
    array.push_back({{"cause", name}, {"devices", figures.devices}, {"nodes", figures.nodes}});
  return array;
}

json::array models_json(const Summary& summary) {
  json::array array;
  for (const auto& [model, figures] : summary.models) {
    if (array.size() == kMostModels) break;
    json::object object{{"driver", model.first.get()}, {"model", model.second.get()}, {"nodes", figures.nodes}};
    figures.devices.add_to(object);
    array.push_back(std::move(object));
  }
  return array;
}

}  // namespace

std::string summary_json(const FleetStore& store, const Freshness& freshness) {
  Summary summary;
  for (const auto& [node, parts] : store.nodes())
    for (const FleetStore::Part& part : parts)
      for (const FleetPool::Device& device : part.devices) summary.add(node, *part.pool, device);
  json::object object{{"revision", store.revision()}, {"synced", freshness.synced}, {"nodes", store.nodes().size()}};
  summary.devices.add_to(object);
  object["drivers"] = models_json(summary);
  object["causes"] = causes_json(summary);
  json::array& warnings = object["warnings"].emplace_array();
  for (const auto& list : {freshness.warnings, warnings_of(store)})
    warnings.insert(warnings.end(), list.begin(), list.end());
  return json::serialize(object);
}

std::string heat_json(const FleetStore& store, const DeviceFilter& filter) {
  std::string names, values, devices;
  for (const auto& [node, parts] : store.nodes()) {
    DeviceCount count;
    for (const FleetStore::Part& part : parts)
      for (const FleetPool::Device& device : part.devices)
        if (filter.selects(*part.pool, device)) count.add(device.state);
    if (count.total() == 0) continue;
    int value = static_cast<int>(100 * count[DeviceState::kHeld] / count.total());
    if (count[DeviceState::kCordoned] > 0) value = kCordonedNode;
    if (count[DeviceState::kUnhealthy] > 0) value = kUnhealthyNode;
    const std::string_view separator = names.empty() ? "" : ",";
    names += separator;
    write_json(names, node.get());
    values += fmt::format("{}{}", separator, value);
    devices += fmt::format("{}{}", separator, count.total());
  }
  return fmt::format(R"({{"revision":{},"names":[{}],"values":[{}],"devices":[{}]}})", store.revision(), names, values,
                     devices);
}

}  // namespace cardcage
