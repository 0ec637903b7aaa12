// A GPU as a PCI function, as the kernel describes it under any driver.
//
// Source: Documentation/ABI/testing/sysfs-bus-pci of the kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "modules/nvidia/node.h"

namespace cardcage::nvidia {

struct PciGpu {
  std::string bus_id;          // "0000:3b:00.0"
  std::string uuid;            // made from the address, as NVIDIA's DRA driver makes it; not the card's own UUID
  std::size_t index = 0;       // among the GPUs of the node, by address
  std::string vendor, device;  // "0x10de", "0x2330"
  std::string product;         // from pci.ids; empty if that is not installed or does not list the card
  std::uint64_t memory = 0;    // bytes in its 64-bit BARs, as a power of two
  bool has_iommufd = false;    // the kernel has it
};

// PciGpu::uuid of the function with this address.
std::string function_uuid(const std::string& bus_id);

// NVIDIA's display and 3D controllers, by address. Their products are empty.
std::vector<PciGpu> read_pci_gpus(const Node& node);
// Sets the products from pci.ids.
void add_products(const Node& node, std::vector<PciGpu>& gpus);
// Nothing for an unknown UUID.
std::optional<PciGpu> find_pci_gpu(const Node& node, std::string_view uuid);

}  // namespace cardcage::nvidia
