#include "modules/nic/devices.h"

#include <algorithm>

#include "modules/common/kernel_files.h"
#include "modules/common/pci_function.h"
#include "modules/nic/rdma.h"

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
  if (netdev.mtu) device.attribute("mtu", static_cast<std::int64_t>(*netdev.mtu));
  if (netdev.speed) device.attribute("speedMbps", static_cast<std::int64_t>(*netdev.speed));
}

// A virtual function has a number at its physical function.
void describe_virtual_function(const hardware::Node& node, const std::string& bus_id, cage::Device& device) {
  const std::string physical = hardware::physical_function_of(node.sysfs, bus_id);
  device.attribute("pfPciAddress", physical);
  const auto all = hardware::virtual_functions_of(node.sysfs, physical);
  if (const auto found = std::ranges::find(all, bus_id); found != all.end())
    device.attribute("vfIndex", static_cast<std::int64_t>(found - all.begin()));
  for (const std::string& name : interfaces_at(path_of(node.sysfs, physical)))
    if (const auto netdev = read_netdev(node.sysfs, name); netdev && !is_representor(*netdev)) {
      device.attribute("pfName", name);
      return;
    }
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
  const hardware::PciIds ids = hardware::ids_of(node.sysfs, bus_id);
  device.attribute("vendor", ids.vendor).attribute("device", ids.device);
  add_text(device, "driver", hardware::driver_of(node.sysfs, bus_id));
  if (nic.type == "vf") describe_virtual_function(node, bus_id, device);
  const auto rdma = rdma_devices_of(path_of(node.sysfs, bus_id));
  device.attribute("rdma", !rdma.empty());
  if (!rdma.empty()) device.attribute("rdmaDevice", rdma.front());
  device.attribute("vfio", can_be_passed_through(passthrough, bus_id));
  if (const auto vdpa = hardware::entry_in(path_of(node.sysfs, bus_id), "vdpa"); !vdpa.empty())
    device.attribute("vdpaDevice", vdpa.filename().native());
}

}  // namespace

void report_devices(const Inventory& inventory, const hardware::Node& node, const hardware::Passthrough& passthrough,
                    cage::Snapshot& snapshot) {
  for (const Nic& nic : inventory.nics) {
    cage::Device device(nic.id, nic.type);
    device.name(nic.name).attribute("type", nic.type);
    if (nic.netdev) describe(*nic.netdev, device);
    if (!nic.bus_id.empty()) {
      device.pci(nic.bus_id);
      describe_function(nic, node, passthrough, device);
    }
    snapshot.add(device);
  }
}

}  // namespace cardcage::nic
