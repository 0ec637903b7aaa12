// Selects the kernel's VFIO driver for a PCI function: some devices have one of their own, such as
// nvgrace_gpu_vfio_pci, and lose features with the general one.
//
// Source: PCI_DRIVER_OVERRIDE_DEVICE_VFIO of the kernel, whose modules have aliases that begin with "vfio_pci:" (Linux
// 5.16); modules.alias, depmod(8).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cardcage::hardware {

// Returns the driver's name, "vfio-pci" if there is no better one or the aliases cannot be read. `folders` may hold the
// modules of the running kernel, /lib/modules/RELEASE of the node; the best alias of all wins.
std::string best_vfio_driver(const std::filesystem::path& sysfs, const std::vector<std::filesystem::path>& folders,
                             const std::string& bus_id);

}  // namespace cardcage::hardware
