#include "modules/nvidia/passthrough.h"

#include <algorithm>

namespace cardcage::nvidia {
namespace {

namespace fs = std::filesystem;

// "0000:3b:00" of "0000:3b:00.0".
std::string_view slot_of(std::string_view bus_id) { return bus_id.substr(0, bus_id.find('.')); }

[[noreturn]] void refuse(const PciGpu& gpu, const std::string& why) {
  throw cage::Error(CAGE_FAILED_PRECONDITION, "GPU " + gpu.bus_id + " cannot be passed through: " + why);
}

}  // namespace

std::vector<std::string> Passthrough::functions_of(const PciGpu& gpu) const {
  const Node& node = driver_.node();
  if (iommu_group_of(node, gpu.bus_id).empty())
    refuse(gpu, "it is in no IOMMU group; turn on the IOMMU in the firmware and on the kernel's command line");
  if (virtual_functions_of(node, gpu.bus_id) > 0)
    refuse(gpu, "it has virtual functions; remove them: echo 0 > sriov_numvfs");
  std::vector<std::string> functions{gpu.bus_id};
  for (std::string& other : iommu_neighbours_of(node, gpu.bus_id)) {
    const std::string driver = driver_of(node, other);
    if (slot_of(other) == slot_of(gpu.bus_id))
      functions.push_back(std::move(other));  // such as the sound of its display outputs
    else if (!driver.empty() && driver != vfio_driver_)
      refuse(gpu, "its IOMMU group has " + other + " with the driver '" + driver + "', which would go with it");
  }
  return functions;
}

void Passthrough::give(const cage::Call& call, const PciGpu& gpu) const {
  for (const std::string& function : functions_of(gpu)) host_.bind_driver(call, gpu.uuid, function, vfio_driver_);
}

void Passthrough::take_back(const cage::Call& call, const std::string& bus_id) const {
  const auto gpus = read_pci_gpus(driver_.node());
  const auto gpu = std::ranges::find(gpus, slot_of(bus_id), [](const PciGpu& one) { return slot_of(one.bus_id); });
  // Without the card there is nothing to bind, and the host forgets what it had.
  host_.restore_driver(call, gpu == gpus.end() ? bus_id : gpu->uuid, bus_id);
}

void Passthrough::add_to(cage::Edit edit, const cage::Allocation& device, const PciGpu& gpu) const {
  const Node& node = driver_.node();
  const bool has_params = device.has_params();
  const bool wants_iommufd = has_params && device.params().text(field::kBackend) == "PreferIommuFD";
  const std::string vfio_device = vfio_device_of(node, gpu.bus_id);
  const bool iommufd = wants_iommufd && fs::exists(node.devfs / "iommu") && !vfio_device.empty();
  edit.device_node(iommufd ? "/dev/vfio/devices/" + vfio_device : "/dev/vfio/" + iommu_group_of(node, gpu.bus_id));
  if (has_params && device.params().boolean(field::kApiDevice))
    edit.device_node(iommufd ? "/dev/iommu" : "/dev/vfio/vfio");
}

}  // namespace cardcage::nvidia
