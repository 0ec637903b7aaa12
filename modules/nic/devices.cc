#include "modules/nic/devices.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "modules/common/kernel_files.h"
#include "modules/common/pci_function.h"

namespace cardcage::nic {
namespace {

using hardware::path_of;

void add_text(cage::Device& device, const char* name, const std::string& value) {
  if (!value.empty()) device.attribute(name, value);
}

void describe(const Netdev& netdev, cage::Device& device) {
  device.attribute("ifName", netdev.name).attribute("encapsulation", encapsulation_of(netdev));
  add_text(device, "mac", netdev.mac);
  add_text(device, "alias", netdev.alias);
  add_text(device, "state", netdev.state);
  add_text(device, "pkey", netdev.pkey);
  if (netdev.mtu) device.attribute("mtu", static_cast<std::int64_t>(*netdev.mtu));
  if (netdev.speed) device.attribute("speedMbps", static_cast<std::int64_t>(*netdev.speed));
}

// A physical function, as its virtual functions show it in their attributes. It is read once for all of them.
struct Physical {
  std::string interface, encapsulation;          // empty if it has none on the node
  std::map<std::string, std::int64_t> virtuals;  // their numbers, by bus id
};

Physical read_physical(const hardware::Node& node, const std::string& bus_id) {
  Physical physical;
  for (std::string& function : hardware::virtual_functions_of(node.sysfs, bus_id))
    physical.virtuals.try_emplace(std::move(function), static_cast<std::int64_t>(physical.virtuals.size()));
  if (const auto netdevs = netdevs_at(node.sysfs, path_of(node.sysfs, bus_id)); !netdevs.empty()) {
    physical.interface = netdevs.front().name;
    physical.encapsulation = encapsulation_of(netdevs.front());
  }
  return physical;
}

void describe_virtual_function(const Nic& nic, const Physical& physical, cage::Device& device) {
  device.attribute("pfPciAddress", nic.physical);
  add_text(device, "pfName", physical.interface);
  if (!nic.netdev) add_text(device, "encapsulation", physical.encapsulation);
  if (const auto number = physical.virtuals.find(nic.bus_id); number != physical.virtuals.end())
    device.attribute("vfIndex", number->second);
}

bool can_be_passed_through(const hardware::Passthrough& passthrough, const std::string& bus_id) {
  try {
    return !passthrough.functions_with(bus_id).empty();
  } catch (const cage::Error&) {
    return false;
  }
}

void describe_function(const Nic& nic, const hardware::Node& node, const hardware::Passthrough& passthrough,
                       cage::Device& device) {
  const std::string& bus_id = nic.bus_id;
  const auto folder = path_of(node.sysfs, bus_id);
  device.attribute("vendor", hardware::text_in(folder / "vendor"));
  device.attribute("device", hardware::text_in(folder / "device"));
  add_text(device, "driver", hardware::driver_of(node.sysfs, bus_id));
  if (const auto index = has(nic.entries, "acpi_index") ? hardware::number_in(folder / "acpi_index") : std::nullopt)
    device.attribute("acpiIndex", static_cast<std::int64_t>(*index));
  if (has(nic.entries, "iommu_group"))
    device.attribute("iommuGroup", static_cast<std::int64_t>(std::strtoul(
                                       hardware::iommu_group_of(node.sysfs, bus_id).c_str(), nullptr, 10)));
  device.attribute("vfio", (has(nic.entries, "iommu_group") || passthrough.is_without_iommu_allowed()) &&
                               can_be_passed_through(passthrough, bus_id));
  const auto vdpa = std::ranges::find_if(nic.entries, [](const auto& entry) { return entry.starts_with("vdpa"); });
  if (vdpa != nic.entries.end()) device.attribute("vdpaDevice", *vdpa);
}

}  // namespace

void report_devices(const Inventory& inventory, const hardware::Node& node, const hardware::Passthrough& passthrough,
                    cage::Snapshot& snapshot) {
  std::map<std::string, Physical> physicals;
  for (const Nic& nic : inventory.nics) {
    cage::Device device(nic.id, nic.type);
    device.name(nic.name).attribute("type", nic.type).attribute("rdma", !nic.rdma.empty());
    device.attribute("virtual", nic.bus_id.empty());
    if (!nic.physical.empty()) device.attribute("isSriovVf", true);
    if (!nic.rdma.empty()) device.attribute("rdmaDevice", nic.rdma.front().filename().native());
    if (nic.netdev) describe(*nic.netdev, device);
    if (!nic.bus_id.empty()) {
      device.pci(nic.bus_id).attribute("k8s.cni.cncf.io/deviceID", nic.bus_id);
      describe_function(nic, node, passthrough, device);
      if (const auto mode = inventory.eswitch_modes.find(card_of(nic)); mode != inventory.eswitch_modes.end())
        device.attribute("eswitchMode", mode->second);
    }
    if (!nic.physical.empty()) {
      auto known = physicals.find(nic.physical);
      if (known == physicals.end()) known = physicals.emplace(nic.physical, read_physical(node, nic.physical)).first;
      describe_virtual_function(nic, known->second, device);
    }
    snapshot.add(device);
  }
  for (const auto& [name, reason] : inventory.left_out) snapshot.not_offered(name, reason);
}

}  // namespace cardcage::nic
