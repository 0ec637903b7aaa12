// Gives a GPU to a virtual machine: bound to a VFIO driver while a claim holds it.
//
// Source: resource.nvidia.com/v1beta1, kind VfioDeviceConfig; Documentation/driver-api/vfio.rst of the kernel.
#pragma once

#include <cardcage/sdk.hpp>
#include <string>
#include <vector>

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
  // `vfio_driver` is that of the kernel, such as "vfio-pci".
  Passthrough(Driver& driver, cage::Host host, std::string vfio_driver)
      : driver_(driver), host_(host), vfio_driver_(std::move(vfio_driver)) {}

  // The functions to bind: the GPU, and what is in its IOMMU group with it. Throws cage::Error if they cannot all be
  // given away.
  std::vector<std::string> functions_of(const PciGpu& gpu) const;
  // Binds them. Nothing of the module may have the GPU open.
  void give(const cage::Call& call, const PciGpu& gpu) const;
  // Binds the function to the driver that it had.
  void take_back(const cage::Call& call, const std::string& bus_id) const;
  // The nodes that a virtual machine monitor opens.
  void add_to(cage::Edit edit, const cage::Allocation& device, const PciGpu& gpu) const;

 private:
  Driver& driver_;
  cage::Host host_;
  const std::string vfio_driver_;
};

}  // namespace cardcage::nvidia
