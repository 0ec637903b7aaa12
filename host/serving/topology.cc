#include "host/serving/topology.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "host/core/file.h"
#include "host/model/attribute_limits.h"
#include "host/model/naming.h"
#include "host/model/standard_attributes.h"

namespace cardcage {
namespace {

constexpr std::int32_t kMaxNumaNode = 1023;  // CONFIG_NODES_SHIFT is at most 10

// Checks for "pci0000:3a": the host bridge, not a bus behind one.
bool is_pcie_root(std::string_view text) {
  return text.starts_with("pci") && is_pci_bus_id(std::string(text.substr(3)) + ":00.0");
}

// The path below the host bridge: {"0000:3a:00.0", "0000:3b:00.0"}, bridges and the device itself.
struct PciPath {
  std::string root;  // "pci0000:3a"
  std::vector<std::string> functions;
};

// `folder` is a link such as ../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0.
std::optional<PciPath> pci_path_of(const std::filesystem::path& folder, const std::string& pci_bus_id) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(folder, error);
  if (error || target.filename() != pci_bus_id) return std::nullopt;
  const auto devices = std::ranges::find(target, std::filesystem::path("devices"));
  const auto root = devices == target.end() ? devices : std::next(devices);
  if (root == target.end() || !is_pcie_root(root->native())) return std::nullopt;
  PciPath path{.root = root->native(), .functions = {}};
  for (auto function = std::next(root); function != target.end(); ++function)
    path.functions.push_back(function->native());
  return path;
}

// A switch is two bridges on the way: its upstream port, and the downstream port above the device. A root port comes
// before both.
std::optional<std::string> pcie_switch_of(const PciPath& path) {
  constexpr std::size_t kBelowRootPort = 4;
  if (path.functions.size() < kBelowRootPort) return std::nullopt;
  return *(path.functions.end() - 3);
}

std::optional<std::int32_t> read_numa_node(const std::filesystem::path& folder) {
  const auto text = read_file(folder / "numa_node", 4096);  // every file in sysfs has the size of a page
  if (!text) return std::nullopt;
  std::int32_t node = -1;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, node);
  if (error != std::errc{} || (stop != end && *stop != '\n')) return std::nullopt;
  return node >= 0 && node <= kMaxNumaNode ? std::optional(node) : std::nullopt;
}

// Returns the node of the device, or of the nearest bridge above it: firmware often describes only bridges, and the
// device reads -1.
std::optional<std::int32_t> numa_node_of(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(folder, error);
  auto place = error ? folder : (folder.parent_path() / target).lexically_normal();
  for (; is_pci_bus_id(place.filename().native()); place = place.parent_path())
    if (const auto node = read_numa_node(place)) return node;
  return std::nullopt;
}

}  // namespace

void Topology::add_to(Device& device) {
  // Only a checked address becomes part of a path.
  if (is_pci_bus_id(device.pci_bus_id)) {
    const std::filesystem::path folder = sysfs_ / "bus/pci/devices" / device.pci_bus_id;
    device.attributes.emplace(kPciBusIdAttribute, device.pci_bus_id);
    if (const auto path = pci_path_of(folder, device.pci_bus_id)) {
      device.attributes.emplace(kPcieRootAttribute, path->root);
      // The module's attributes may leave room for the standard ones only.
      const bool has_room = device.attributes.size() + device.capacity.size() + 1 < kMaxAttributes;
      if (auto above = pcie_switch_of(*path); above && has_room)
        device.attributes.emplace(kPcieSwitchAttribute, *std::move(above));
    }
    if (device.numa_nodes.empty())
      if (const auto node = numa_node_of(folder)) device.numa_nodes.push_back(*node);
  }
  if (device.numa_nodes.empty()) return;
  const std::int32_t node = device.numa_nodes.front();
  if (numa_ == NumaAttribute::kScalar) {
    device.attributes.emplace(kNumaNodeAttribute, std::int64_t{node});
  } else if (device.numa_nodes.size() > 1) {
    device.attributes.emplace(kNumaNodeAttribute,
                              std::vector<std::int64_t>(device.numa_nodes.begin(), device.numa_nodes.end()));
  } else {
    const auto [near, is_new] = near_.try_emplace(node);
    if (is_new) near->second = near_nodes(sysfs_, node);
    device.attributes.emplace(kNumaNodeAttribute, near->second);
  }
}

}  // namespace cardcage
