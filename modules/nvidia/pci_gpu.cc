#include "modules/nvidia/pci_gpu.h"

#include <algorithm>
#include <bit>
#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <fstream>

#include "modules/common/kernel_files.h"
#include "modules/common/passthrough.h"
#include "modules/common/pci_function.h"
#include "modules/common/pci_ids.h"

namespace cardcage::nvidia {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVendor = "0x10de", kDisplayController = "0x03";

// Lines of `resource` are the first and last address and the flags of a BAR; lines after the sixth belong to the ROM
// and to virtual functions.
std::uint64_t memory_of(const fs::path& function) {
  constexpr std::uint64_t kMemory64 = 0x00100000;  // IORESOURCE_MEM_64
  std::ifstream file(function / "resource");
  std::uint64_t first = 0, last = 0, flags = 0, sum = 0;
  constexpr int kBars = 6;
  for (int bar = 0; bar < kBars && file >> std::hex >> first >> last >> flags; ++bar)
    if ((flags & kMemory64) != 0 && last > first) sum += last - first + 1;
  return sum == 0 ? 0 : std::bit_ceil(sum);
}

}  // namespace

std::string function_uuid(const std::string& bus_id) {
  return to_string(boost::uuids::name_generator_sha1(boost::uuids::ns::dns())(bus_id));
}

std::vector<PciGpu> read_pci_gpus(const Node& node) {
  std::vector<PciGpu> gpus;
  for (const std::string& bus_id : hardware::functions_of(node.sysfs)) {
    const fs::path function = hardware::path_of(node.sysfs, bus_id);
    if (hardware::text_in(function / "vendor") != kVendor) continue;  // most functions belong to other vendors
    const hardware::PciIds ids = hardware::ids_of(node.sysfs, bus_id);
    if (!ids.class_code.starts_with(kDisplayController)) continue;
    gpus.push_back({.bus_id = bus_id,
                    .uuid = function_uuid(bus_id),
                    .index = gpus.size(),
                    .vendor = ids.vendor,
                    .device = ids.device,
                    .product = {},
                    .memory = memory_of(function),
                    .has_iommufd = hardware::has_iommufd(node.devfs)});
  }
  return gpus;
}

void add_products(const Node& node, std::vector<PciGpu>& gpus) {
  const auto products = hardware::products_of(node.driver_root, kVendor);
  for (PciGpu& gpu : gpus)
    if (const auto found = products.find(gpu.device); found != products.end()) gpu.product = found->second;
}

std::optional<PciGpu> find_pci_gpu(const Node& node, std::string_view uuid) {
  const auto gpus = read_pci_gpus(node);
  const auto found = std::ranges::find(gpus, uuid, &PciGpu::uuid);
  return found == gpus.end() ? std::nullopt : std::optional(*found);
}

}  // namespace cardcage::nvidia
