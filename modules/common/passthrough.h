// Gives a PCI function to a virtual machine: bound to a VFIO driver while a claim holds it.
//
// Source: Documentation/driver-api/vfio.rst and Documentation/userspace-api/iommufd.rst of the kernel.
#pragma once

#include <cardcage/sdk.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cardcage::hardware {

// Returns whether the kernel has iommufd, the way to VFIO devices that needs no groups.
bool has_iommufd(const std::filesystem::path& devfs);

class Passthrough {
 public:
  // Errors name `kind` and the bus id: "GPU 0000:3b:00.0". `driver` is the kernel driver's name, such as "vfio-pci".
  // `without_iommu` gives functions away that no IOMMU keeps from the node's memory.
  Passthrough(cage::Host host, std::filesystem::path sysfs, std::filesystem::path devfs, std::string kind,
              std::string driver, bool without_iommu = false)
      : host_(host),
        sysfs_(std::move(sysfs)),
        devfs_(std::move(devfs)),
        kind_(std::move(kind)),
        driver_(std::move(driver)),
        without_iommu_(without_iommu) {}

  // Returns the functions to bind: this one, and those of its card in its IOMMU group. A virtual function takes none
  // with it, because its card's other functions are devices of their own. Throws cage::Error if one of them cannot be
  // given away.
  std::vector<std::string> functions_with(const std::string& bus_id) const;
  // Binds them for the device with this id. The module must not have any of them open.
  void give(const cage::Call& call, std::string_view device, const std::string& bus_id) const;
  // Binds one function to its previous driver.
  void take_back(const cage::Call& call, std::string_view device, const std::string& bus_id) const;

  struct Nodes {
    bool prefer_iommufd = false;   // instead of the IOMMU group, if the kernel and the driver offer it
    bool with_api_device = false;  // /dev/iommu or /dev/vfio/vfio
  };
  // Adds the nodes that a virtual machine monitor opens. Throws cage::Error if the function has no IOMMU, and needs
  // one.
  void add_to(cage::Edit edit, const std::string& bus_id, Nodes nodes) const;
  // Returns them as a list: first the function's, then the API's.
  std::vector<cage::DeviceNode> nodes_of(const std::string& bus_id, Nodes nodes) const;
  bool is_without_iommu_allowed() const { return without_iommu_; }

 private:
  void require_iommu(const std::string& bus_id) const;
  [[noreturn]] void refuse(const std::string& bus_id, const std::string& why) const;

  cage::Host host_;
  const std::filesystem::path sysfs_, devfs_;
  const std::string kind_, driver_;
  const bool without_iommu_;
};

}  // namespace cardcage::hardware
