#include "modules/nvidia/passthrough.h"

#include <algorithm>

#include "modules/common/kernel_files.h"
#include "modules/common/pci_function.h"
#include "modules/common/vfio_driver.h"

namespace cardcage::nvidia {

std::string Passthrough::driver_for(const std::string& bus_id) const {
  if (!vfio_driver_.empty()) return vfio_driver_;
  const Node& node = driver_.node();
  const auto modules = std::filesystem::path("lib/modules") / hardware::text_in(node.procfs / "sys/kernel/osrelease");
  return hardware::best_vfio_driver(node.sysfs, {node.driver_root / modules, "/" / modules}, bus_id);
}

hardware::Passthrough Passthrough::vfio_with(std::string vfio_driver) const {
  return {host_, driver_.node().sysfs, driver_.node().devfs, "GPU", std::move(vfio_driver)};
}

void Passthrough::take_back(const cage::Call& call, const std::string& bus_id) const {
  using hardware::slot_of;
  const auto gpus = read_pci_gpus(driver_.node());
  const auto gpu = std::ranges::find(gpus, slot_of(bus_id), [](const PciGpu& one) { return slot_of(one.bus_id); });
  // Without the card there is no function to bind, and the host forgets its driver.
  vfio_with(vfio_driver_).take_back(call, gpu == gpus.end() ? bus_id : gpu->uuid, bus_id);
}

void Passthrough::add_to(cage::Edit edit, const cage::Allocation& device, const PciGpu& gpu) const {
  hardware::Passthrough::Nodes nodes;
  if (device.has_params())
    nodes = {.prefer_iommufd = device.params().text(field::kBackend) == "PreferIommuFD",
             .with_api_device = device.params().boolean(field::kApiDevice)};
  vfio_with(vfio_driver_).add_to(edit, gpu.bus_id, nodes);
}

}  // namespace cardcage::nvidia
