// cagectl devices [NAME...] [--not-offered]
#include <algorithm>
#include <map>

#include "ctl/absent_devices.h"
#include "ctl/admin.h"
#include "ctl/device_health.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "host/core/nearest.h"

namespace cardcage {
namespace {

namespace json = boost::json;

struct DeviceQuery {
  std::vector<std::string> names;
  std::string module, driver;
  bool not_offered = false;

  bool wants(const admin::v1::Device& device) const {
    return (module.empty() || device.module() == module) && (driver.empty() || device.driver() == driver) &&
           (names.empty() || std::ranges::count(names, device.name()) + std::ranges::count(names, device.id()) > 0);
  }
};

// Sorts a protobuf map, which is unordered.
template <class Map>
auto sorted(const Map& map) {
  return std::map<std::string, typename Map::mapped_type>(map.begin(), map.end());
}

json::value policy_json(const admin::v1::RequestPolicy& policy) {
  json::array values;
  for (const auto& value : policy.values()) values.emplace_back(value);
  return {{"default", policy.default_amount()},
          {"values", std::move(values)},
          {"min", text_json(policy.min())},
          {"max", text_json(policy.max())},
          {"step", text_json(policy.step())}};
}

// Returns "1 by default, one of 1, 2, 4" or "2Gi by default, 1Gi to 8Gi in steps of 1Gi".
std::string policy_text(const admin::v1::RequestPolicy& policy) {
  std::string text = policy.default_amount() + " by default";
  if (policy.values_size() > 0) text += fmt::format(", one of {}", fmt::join(policy.values(), ", "));
  if (!policy.min().empty())
    text += policy.max().empty() ? ", at least " + policy.min() : fmt::format(", {} to {}", policy.min(), policy.max());
  if (!policy.step().empty()) text += " in steps of " + policy.step();
  return text;
}

json::value binding_json(const admin::v1::Device& device) {
  if (!device.has_binding()) return nullptr;
  json::array conditions, failures;
  for (const auto& type : device.binding().conditions()) conditions.emplace_back(type);
  for (const auto& type : device.binding().failures()) failures.emplace_back(type);
  return {
      {"conditions", std::move(conditions)}, {"failures", std::move(failures)}, {"toNode", device.binding().to_node()}};
}

json::value device_json(const admin::v1::Device& device) {
  json::object attributes, capacity, policies;
  for (const auto& [name, value] : sorted(device.attributes())) attributes[name] = to_json(value);
  for (const auto& [name, quantity] : sorted(device.capacity())) capacity[name] = quantity;
  for (const auto& [name, policy] : sorted(device.request_policies())) policies[name] = policy_json(policy);
  json::array holders, numa;
  for (const auto& holder : device.holders()) holders.push_back(to_json(holder));
  for (const auto node : device.numa_nodes()) numa.emplace_back(node);
  return {{"name", device.name()},
          {"id", device.id()},
          {"module", device.module()},
          {"kind", device.kind()},
          {"driver", device.driver()},
          {"pool", device.pool()},
          {"parent", device.parent_id()},
          {"pciBusID", device.pci_bus_id()},
          {"numaNodes", std::move(numa)},
          {"shared", device.shared()},
          {"health", health_json(device)},
          {"cordon", cordon_json(device)},
          {"attributes", std::move(attributes)},
          {"capacity", std::move(capacity)},
          {"requestPolicies", std::move(policies)},
          {"binding", binding_json(device)},
          {"claims", std::move(holders)}};
}

std::string holders(const admin::v1::Device& device) {
  std::vector<std::string> names;
  for (const auto& holder : device.holders()) names.push_back(to_text(holder));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string numa(const admin::v1::Device& device) { return fmt::format("{}", fmt::join(device.numa_nodes(), ",")); }

void print_table(const std::vector<admin::v1::Device>& devices) {
  Table table({"DEVICE", "KIND", "MODULE", "DRIVER", "POOL", "HEALTH", "HELD BY", "NUMA", "PCI"});
  for (const auto& device : devices)
    table.row({device.name(), device.kind(), device.module(), device.driver(), device.pool(), health_text(device),
               holders(device), numa(device), device.pci_bus_id()});
  table.print();
}

// Returns "a pod waits for Attached, or gets another device if AttachFailed; its claim stays on this node".
std::string binding_text(const admin::v1::Device& device) {
  const admin::v1::Binding& binding = device.binding();
  if (!device.has_binding()) return "";
  return fmt::format("a pod waits for {}, or gets another device if {}{}", fmt::join(binding.conditions(), " and "),
                     fmt::join(binding.failures(), " or "), binding.to_node() ? "; its claim stays on this node" : "");
}

// Returns false for a module without separate causes, whose statement is the health of the device.
bool tells_causes(const admin::v1::Device& device) {
  return device.causes_size() > 1 || (device.causes_size() == 1 && !device.causes(0).name().empty());
}

void print_details(const admin::v1::Device& device) {
  fmt::print("{}\n", printable(device.name()));
  print_facts({{"id", device.id()},
               {"kind", device.kind()},
               {"module", device.module()},
               {"driver", device.driver().empty() ? "none: no rule takes this device" : device.driver()},
               {"pool", device.pool()},
               {"parent", device.parent_id()},
               {"pci", device.pci_bus_id()},
               {"numa", numa(device)},
               {"shared", device.shared() ? "yes" : ""},
               {"binding", binding_text(device)},
               {"health", health_text(device)},
               {"cordon", cordon_text(device)},
               {"message", device.health().detail()},
               {"taint", device.taint_effect() == admin::v1::TAINT_EFFECT_NONE ? "" : device.taint()},
               {"held by", holders(device)}},
              2);
  if (tells_causes(device))
    for (const auto& cause : device.causes()) fmt::print("  cause {}\n", printable(cause_text(cause)));
  for (const auto& [name, value] : sorted(device.attributes()))
    fmt::print("  attribute {} = {}\n", printable(name), printable(to_text(value)));
  const auto policies = sorted(device.request_policies());
  for (const auto& [name, quantity] : sorted(device.capacity())) {
    const auto policy = policies.find(name);
    const std::string share = policy == policies.end() ? "" : "; a claim gets " + policy_text(policy->second);
    fmt::print("  capacity {} = {}{}\n", printable(name), printable(quantity), printable(share));
  }
}

void print_hint(const std::string& hint) {
  if (!hint.empty()) fmt::print("{}\n", hint);
}

Status check_names(const Session& session, const DeviceQuery& query, const admin::v1::ListDevicesResponse& list) {
  std::vector<std::string> known;
  for (const auto& device : list.devices()) known.insert(known.end(), {device.name(), device.id()});
  for (const auto& name : query.names)
    if (std::ranges::count(known, name) == 0) {
      const std::string reason = not_offered_reason(modules_for_hints(session), name);
      return fail(Code::kNotFound, "no device '{}'{}", name, reason.empty() ? nearest_hint(name, known) : reason);
    }
  return {};
}

Status show_devices(const Session& session, const DeviceQuery& query) {
  if (query.not_offered) return show_not_offered(session, query.module);
  const auto list = ask(session.socket, &admin::v1::Admin::Stub::ListDevices);
  if (!list) return std::unexpected(list.error());
  if (auto fine = check_names(session, query, *list); !fine) return fine;
  std::vector<admin::v1::Device> devices;
  std::ranges::copy_if(list->devices(), std::back_inserter(devices),
                       [&](const admin::v1::Device& device) { return query.wants(device); });
  if (session.json) {
    json::array array;
    for (const auto& device : devices) array.push_back(device_json(device));
    print_json(array);
  } else if (query.names.empty() || devices.empty()) {
    const auto modules = modules_for_hints(session);
    if (devices.empty())
      fmt::print("{}\n", no_devices_text(modules, query.module));
    else
      print_table(devices);
    print_hint(not_offered_hint(modules, query.module));
  } else {
    std::ranges::for_each(devices, print_details);
  }
  return {};
}

}  // namespace

void add_devices(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("devices", "show the devices: health, driver, holder; all details of those named");
  auto query = std::make_shared<DeviceQuery>();
  command->add_option("NAME", query->names, "names or ids of devices to show in full");
  command->add_option("--module", query->module, "only the devices of this module")->type_name("MODULE");
  command->add_option("--driver", query->driver, "only the devices of this driver")->type_name("DRIVER");
  command->add_flag("--not-offered", query->not_offered, "show the hardware that is not a device, and why");
  command->callback([&session, query] { session.outcome = show_devices(session, *query); });
}

}  // namespace cardcage
