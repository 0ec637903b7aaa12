#include "modules/nvidia/pci_gpu.h"

#include <algorithm>
#include <bit>
#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <fstream>
#include <sstream>
#include <string_view>

namespace cardcage::nvidia {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVendor = "0x10de", kDisplayController = "0x03", kBridge = "0x06";

fs::path functions(const Node& node) { return node.sysfs / "bus/pci/devices"; }

// The first word; empty if the file cannot be read.
std::string word_in(const fs::path& file) {
  std::ifstream stream(file);
  std::string word;
  stream >> word;
  return word;
}

std::string target_name(const fs::path& link) {
  std::error_code error;
  return fs::read_symlink(link, error).filename();
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

// Lines of `resource` are the first and last address and the flags of a BAR; those after the sixth are of the ROM and
// of virtual functions.
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
  for (const std::string& bus_id : names_in(functions(node))) {
    const fs::path function = functions(node) / bus_id;
    if (word_in(function / "vendor") != kVendor || !word_in(function / "class").starts_with(kDisplayController))
      continue;
    gpus.push_back({.bus_id = bus_id,
                    .uuid = function_uuid(bus_id),
                    .index = gpus.size(),
                    .vendor = std::string(kVendor),
                    .device = word_in(function / "device"),
                    .product = {},
                    .memory = memory_of(function),
                    .has_iommufd = fs::exists(node.devfs / "iommu")});
  }
  return gpus;
}

// A list of vendors with tabbed lines of their devices: "\t2330  GH100 [H100 SXM5 80GB]".
void add_products(const Node& node, std::vector<PciGpu>& gpus) {
  for (const char* place : {"usr/share/hwdata/pci.ids", "usr/share/misc/pci.ids"}) {
    std::ifstream file(node.driver_root / place);
    bool ours = false;
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line.front() == '#') continue;
      if (line.front() != '\t') ours = line.starts_with(kVendor.substr(2));
      if (!ours || line.front() != '\t' || line.starts_with("\t\t")) continue;
      const auto name = line.find_first_not_of(' ', 5);
      if (name == std::string::npos) continue;
      for (PciGpu& gpu : gpus)
        if (gpu.product.empty() && gpu.device == "0x" + line.substr(1, 4)) gpu.product = line.substr(name);
    }
  }
}

std::optional<PciGpu> find_pci_gpu(const Node& node, std::string_view uuid) {
  const auto gpus = read_pci_gpus(node);
  const auto found = std::ranges::find(gpus, uuid, &PciGpu::uuid);
  return found == gpus.end() ? std::nullopt : std::optional(*found);
}

std::string driver_of(const Node& node, const std::string& bus_id) {
  return target_name(functions(node) / bus_id / "driver");
}

std::string iommu_group_of(const Node& node, const std::string& bus_id) {
  return target_name(functions(node) / bus_id / "iommu_group");
}

std::vector<std::string> iommu_neighbours_of(const Node& node, const std::string& bus_id) {
  std::vector<std::string> others = names_in(functions(node) / bus_id / "iommu_group/devices");
  std::erase_if(others, [&](const std::string& other) {
    return other == bus_id || word_in(functions(node) / other / "class").starts_with(kBridge);
  });
  return others;
}

std::string vfio_device_of(const Node& node, const std::string& bus_id) {
  const auto names = names_in(functions(node) / bus_id / "vfio-dev");
  return names.empty() ? std::string() : names.front();
}

unsigned virtual_functions_of(const Node& node, const std::string& bus_id) {
  std::ifstream file(functions(node) / bus_id / "sriov_numvfs");
  unsigned count = 0;
  file >> count;
  return count;
}

}  // namespace cardcage::nvidia
