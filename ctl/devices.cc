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

// Returns "1 by default, one of 1, 2, 4" or "2Gi by default, 1Gi to 8Gi in steps of 1Gi".
std::string policy_text(const admin::v1::RequestPolicy& policy) {
  std::string text = policy.default_amount() + " by default";
  if (policy.values_size() > 0) text += fmt::format(", one of {}", fmt::join(policy.values(), ", "));
  if (!policy.min().empty())
    text += policy.max().empty() ? ", at least " + policy.min() : fmt::format(", {} to {}", policy.min(), policy.max());
  if (!policy.step().empty()) text += " in steps of " + policy.step();
  return text;
}

std::string holders(const admin::v1::Device& device) {
  std::vector<std::string> names;
  for (const auto& holder : device.holders()) names.push_back(to_text(holder));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string numa(const admin::v1::Device& device) { return fmt::format("{}", fmt::join(device.numa_nodes(), ",")); }

void print_table(const admin::v1::ListDevicesResponse& list) {
  Table table({"DEVICE", "KIND", "MODULE", "DRIVER", "POOL", "HEALTH", "HELD BY", "NUMA", "PCI"});
  for (const auto& device : list.devices())
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
  const auto& causes = device.health().causes();
  return causes.size() > 1 || (causes.size() == 1 && !causes[0].name().empty());
}

void print_details(const admin::v1::Device& device) {
  fmt::print("{}\n", printable(device.name()));
  print_facts({{"id", device.id()},
               {"kind", device.kind()},
               {"module", device.module()},
               {"driver", device.driver().empty() ? "none: no rule takes this device" : device.driver()},
               {"pool", device.pool()},
               {"parent", device.parent()},
               {"pci", device.pci_bus_id()},
               {"numa", numa(device)},
               {"shared", device.shared() ? "yes" : ""},
               {"binding", binding_text(device)},
               {"health", health_text(device)},
               {"cordon", cordon_text(device)},
               {"message", device.health().message()},
               {"taint", device.health().taint() == "none" ? "" : device.health().taint()},
               {"held by", holders(device)}},
              2);
  if (tells_causes(device))
    for (const auto& cause : device.health().causes()) fmt::print("  cause {}\n", printable(cause_text(cause)));
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
  admin::v1::ListDevicesResponse chosen;
  for (const auto& device : list->devices())
    if (query.wants(device)) *chosen.add_devices() = device;
  if (session.json) {
    print_json(chosen, "devices");
  } else if (query.names.empty() || chosen.devices().empty()) {
    const auto modules = modules_for_hints(session);
    if (chosen.devices().empty())
      fmt::print("{}\n", no_devices_text(modules, query.module));
    else
      print_table(chosen);
    print_hint(not_offered_hint(modules, query.module));
  } else {
    std::ranges::for_each(chosen.devices(), print_details);
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
