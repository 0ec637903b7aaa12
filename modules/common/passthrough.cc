#include "modules/common/passthrough.h"

#include "modules/common/kernel_files.h"
#include "modules/common/pci_function.h"

namespace cardcage::hardware {
namespace {

namespace fs = std::filesystem;

std::string would_lose_driver(const std::string& neighbour, const std::string& driver) {
  return "its IOMMU group has " + neighbour + " with the driver '" + driver + "', which would go with it";
}

}  // namespace

bool has_iommufd(const fs::path& devfs) {
  std::error_code error;
  return fs::exists(devfs / "iommu", error);
}

void Passthrough::refuse(const std::string& bus_id, const std::string& why) const {
  throw cage::Error(CAGE_FAILED_PRECONDITION, kind_ + " " + bus_id + " cannot be passed through: " + why);
}

// The kernel's own switch of vfio is off by default.
void Passthrough::require_iommu(const std::string& bus_id) const {
  const bool has_group = !iommu_group_of(sysfs_, bus_id).empty();
  if (has_group && !is_without_iommu(sysfs_, bus_id)) return;
  if (!without_iommu_)
    refuse(bus_id,
           std::string(has_group ? "no IOMMU keeps its user from the node's memory" : "it is in no IOMMU group") +
               "; turn on the IOMMU in the firmware and on the kernel's command line");
  if (!has_group && text_in(sysfs_ / "module/vfio/parameters/enable_unsafe_noiommu_mode") == "N")
    refuse(bus_id,
           "it is in no IOMMU group, and the kernel's vfio needs one; set the option "
           "enable_unsafe_noiommu_mode=1 of the kernel module vfio");
}

std::vector<std::string> Passthrough::functions_with(const std::string& bus_id) const {
  require_iommu(bus_id);
  if (virtual_functions_in_use(sysfs_, bus_id) > 0)
    refuse(bus_id, "it has virtual functions; remove them: echo 0 > sriov_numvfs");
  std::vector<std::string> functions{bus_id};
  for (std::string& other : iommu_neighbours_of(sysfs_, bus_id)) {
    const std::string driver = driver_of(sysfs_, other);
    if (slot_of(other) == slot_of(bus_id) && physical_function_of(sysfs_, bus_id).empty())
      functions.push_back(std::move(other));  // for example, the sound of a GPU's display outputs
    else if (!driver.empty() && driver != driver_)
      refuse(bus_id, would_lose_driver(other, driver));
  }
  return functions;
}

void Passthrough::give(const cage::Call& call, std::string_view device, const std::string& bus_id) const {
  for (const std::string& function : functions_with(bus_id)) host_.bind_driver(call, device, function, driver_);
}

void Passthrough::take_back(const cage::Call& call, std::string_view device, const std::string& bus_id) const {
  host_.restore_driver(call, device, bus_id);
}

std::vector<cage::DeviceNode> Passthrough::nodes_of(const std::string& bus_id, Nodes nodes) const {
  require_iommu(bus_id);
  const std::string vfio_device = vfio_device_of(sysfs_, bus_id);
  const bool iommufd = nodes.prefer_iommufd && has_iommufd(devfs_) && !vfio_device.empty();
  const std::string group = iommu_group_of(sysfs_, bus_id);
  cage::DeviceNode node;
  node.path = iommufd ? "/dev/vfio/devices/" + vfio_device : "/dev/vfio/" + group;
  // Programs look for the same name with and without an IOMMU.
  if (!iommufd && is_without_iommu(sysfs_, bus_id)) node.host_path = "/dev/vfio/noiommu-" + group;
  std::vector<cage::DeviceNode> all{std::move(node)};
  if (nodes.with_api_device) all.push_back({.path = iommufd ? "/dev/iommu" : "/dev/vfio/vfio"});
  return all;
}

void Passthrough::add_to(cage::Edit edit, const std::string& bus_id, Nodes nodes) const {
  for (const cage::DeviceNode& node : nodes_of(bus_id, nodes)) edit.device_node(node);
}

}  // namespace cardcage::hardware
