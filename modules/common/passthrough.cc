#include "modules/common/passthrough.h"

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

std::vector<std::string> Passthrough::functions_with(const std::string& bus_id) const {
  if (iommu_group_of(sysfs_, bus_id).empty())
    refuse(bus_id, "it is in no IOMMU group; turn on the IOMMU in the firmware and on the kernel's command line");
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

void Passthrough::add_to(cage::Edit edit, const std::string& bus_id, Nodes nodes) const {
  const std::string vfio_device = vfio_device_of(sysfs_, bus_id);
  const bool iommufd = nodes.prefer_iommufd && has_iommufd(devfs_) && !vfio_device.empty();
  edit.device_node(iommufd ? "/dev/vfio/devices/" + vfio_device : "/dev/vfio/" + iommu_group_of(sysfs_, bus_id));
  if (nodes.with_api_device) edit.device_node(iommufd ? "/dev/iommu" : "/dev/vfio/vfio");
}

}  // namespace cardcage::hardware
