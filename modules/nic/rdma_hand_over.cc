#include "modules/nic/rdma_hand_over.h"

#include <net/if_arp.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "modules/common/pci_function.h"
#include "modules/nic/network.h"
#include "modules/nic/nic.h"
#include "modules/nic/rdma.h"

namespace cardcage::nic {
namespace {

bool contains(const std::vector<RdmaDevice>& devices, const RdmaDevice& device) {
  return std::ranges::find(devices, device.index, &RdmaDevice::index) != devices.end();
}

std::vector<RdmaDevice> devices_in(int network_namespace) {
  std::vector<RdmaDevice> devices;
  in_network(network_namespace, [&] { devices = RdmaDevices().all(); });
  return devices;
}

void require_in_pod(const KeptInterface& kept, const RdmaDevice& device, int network_namespace) try {
  if (!contains(devices_in(network_namespace), device))
    throw cage::Error(CAGE_UNAVAILABLE,
                      "RDMA device '" + device.name + "' of device '" + kept.device +
                          "' is not on the node: it comes back when the network of its last pod ends");
} catch (const std::system_error& error) {
  if (error.code().value() != EPERM) throw;  // a confined module may not look
}

std::vector<std::string> nodes_of(const hardware::Node& node, const RdmaDevice& device) {
  return rdma_nodes_of(node.sysfs, {device.name}, node.devfs);
}

// Moves a device. Its nodes must keep their numbers, because the container may have them already.
void move(const hardware::Node& node, RdmaDevices& devices, const RdmaDevice& device, int network_namespace) {
  const std::vector<std::string> before = nodes_of(node, device);
  devices.move(device.index, network_namespace);
  const std::vector<std::string> now = nodes_of(node, device);
  if (now.empty() || now == before) return;
  throw cage::Error(CAGE_UNAVAILABLE,
                    "RDMA device '" + device.name + "' is '" + now.front() + "' now, and was '" + before.front() +
                        "' when its claim was prepared: the kernel has renumbered it; delete the pod, the next one "
                        "gets it");
}

}  // namespace

// Linux before 5.3 does not support the request.
bool is_rdma_exclusive() try { return RdmaDevices().are_exclusive(); } catch (const std::system_error& error) {
  const int number = error.code().value();
  if (number != EPROTONOSUPPORT && number != EINVAL) throw;
  return false;
}

std::vector<RdmaDevice> movable_rdma_of(const hardware::Node& node, std::string_view device, const Netdev& netdev) {
  const std::string bus_id = bus_id_of(device);
  if (bus_id.empty() || bus_id != device || netdev.type == ARPHRD_INFINIBAND) return {};
  const std::vector<std::filesystem::path> folders = rdma_devices_of(hardware::path_of(node.sysfs, bus_id));
  if (folders.empty() || !is_rdma_exclusive()) return {};
  std::vector<RdmaDevice> devices = RdmaDevices().all();
  std::erase_if(devices, [&](const RdmaDevice& one) {
    return std::ranges::none_of(folders, [&](const auto& folder) { return folder.filename() == one.name; });
  });
  return devices;
}

void give_rdma(cage::Host host, const hardware::Node& node, const KeptInterface& kept, int network_namespace) {
  if (kept.rdma.empty()) return;
  RdmaDevices devices;
  const std::vector<RdmaDevice> here = devices.all();
  for (const RdmaDevice& device : kept.rdma) try {
      if (contains(here, device))
        move(node, devices, device, network_namespace);
      else
        require_in_pod(kept, device, network_namespace);
    } catch (const std::system_error& error) {
      if (error.code().value() != EOPNOTSUPP) throw;
      host.warn() << "RDMA device '" << device.name << "' stays on the node, and the pod cannot use it: its driver "
                  << "cannot move it to another network namespace";
    }
}

void take_back_rdma(cage::Host host, const KeptInterface& kept, int network_namespace) {
  if (kept.rdma.empty()) return;
  try {
    const NodeNetwork node;
    in_network(network_namespace, [&] {
      RdmaDevices devices;
      for (const RdmaDevice& device : devices.all())
        if (contains(kept.rdma, device)) devices.move(device.index, node.descriptor());
    });
  } catch (const std::system_error& error) {
    host.info() << "RDMA device '" << kept.rdma.front().name
                << "' comes back to the node when the network of its pod ends, and not before: " << error.what();
  }
  restore_rdma_names(host, kept);
}

bool is_rdma_back(const hardware::Node& node, const KeptInterface& kept) {
  std::error_code error;
  const auto function = hardware::path_of(node.sysfs, bus_id_of(kept.device));
  return kept.rdma.empty() || !std::filesystem::exists(function / "infiniband", error) ||
         !rdma_devices_of(function).empty();
}

void restore_rdma_names(cage::Host host, const KeptInterface& kept) {
  if (kept.rdma.empty()) return;
  try {
    RdmaDevices devices;
    for (const RdmaDevice& now : devices.all()) {
      const auto before = std::ranges::find(kept.rdma, now.index, &RdmaDevice::index);
      if (before != kept.rdma.end() && before->name != now.name) devices.rename(now.index, before->name);
    }
  } catch (const std::system_error& error) {
    host.warn() << "RDMA device '" << kept.rdma.front().name << "' cannot have its name back: " << error.what();
  }
}

}  // namespace cardcage::nic
