// Gives a GPU to a virtual machine for a claim with a VfioDeviceConfig.
//
// Source: resource.nvidia.com/v1beta1, kind VfioDeviceConfig.
#pragma once

#include <cardcage/sdk.hpp>
#include <string>
#include <vector>

#include "modules/common/passthrough.h"
#include "modules/nvidia/driver.h"
#include "modules/nvidia/pci_gpu.h"

namespace cardcage::nvidia {

namespace field {
inline constexpr const char *kBackend = "iommu.backendPolicy", *kApiDevice = "iommu.enableAPIDevice";
}  // namespace field

inline constexpr cage_str kBackends[] = {CAGE_LIT("LegacyOnly"), CAGE_LIT("PreferIommuFD")};
inline constexpr cage::Option kVfioFields[] = {
    cage::Option::text(field::kBackend, "LegacyOnly", "whether the container gets a device of iommufd if there is one")
        .one_of(kBackends),
    cage::Option::boolean(field::kApiDevice, "false", "add /dev/vfio/vfio or /dev/iommu"),
};

class Passthrough {
 public:
  // `vfio_driver` is a driver of the kernel, such as "vfio-pci"; empty: the best fit for each GPU.
  Passthrough(Driver& driver, cage::Host host, std::string vfio_driver)
      : driver_(driver), host_(host), vfio_driver_(std::move(vfio_driver)) {}

  // The functions to bind. Throws cage::Error if one of them cannot be given away.
  std::vector<std::string> functions_of(const PciGpu& gpu) const {
    return vfio_with(driver_for(gpu.bus_id)).functions_with(gpu.bus_id);
  }
  // Binds the functions. The module must not have the GPU open.
  void give(const cage::Call& call, const PciGpu& gpu) const {
    vfio_with(driver_for(gpu.bus_id)).give(call, gpu.uuid, gpu.bus_id);
  }
  // Binds the function to its former driver.
  void take_back(const cage::Call& call, const std::string& bus_id) const;
  // The nodes that a virtual machine monitor opens.
  void add_to(cage::Edit edit, const cage::Allocation& device, const PciGpu& gpu) const;

 private:
  // Reads the aliases of the kernel's modules, which only a binding needs.
  std::string driver_for(const std::string& bus_id) const;
  hardware::Passthrough vfio_with(std::string vfio_driver) const;

  Driver& driver_;
  cage::Host host_;
  const std::string vfio_driver_;
};

}  // namespace cardcage::nvidia
