// The place of a PCI device in the machine, as standard attributes of Kubernetes.
#pragma once

#include <filesystem>

#include "host/model/device.h"

namespace cardcage {

inline constexpr const char* kPcieRootAttribute = "resource.kubernetes.io/pcieRoot";
inline constexpr const char* kPciBusIdAttribute = "resource.kubernetes.io/pciBusID";
inline constexpr const char* kNumaNodeAttribute = "resource.kubernetes.io/numaNode";

// Adds from <sysfs>/bus/pci/devices/<address> what the module left out: numa_nodes (of the device or, if that is -1, of
// the nearest bridge above it) and the three attributes. Values that sysfs does not have, or that cannot be parsed,
// stay unset. numaNode is the first of numa_nodes, because the list form needs an alpha feature gate. [core] Takes a
// few small reads of sysfs, some microseconds.
void add_topology(const std::filesystem::path& sysfs, Device& device);

}  // namespace cardcage
