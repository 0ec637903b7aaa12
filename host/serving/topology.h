// Where a PCI device sits in the machine, as the standard attributes of Kubernetes say it.
#pragma once

#include <filesystem>

#include "host/model/device.h"

namespace cardcage {

inline constexpr const char* kPcieRootAttribute = "resource.kubernetes.io/pcieRoot";
inline constexpr const char* kPciBusIdAttribute = "resource.kubernetes.io/pciBusID";
inline constexpr const char* kNumaNodeAttribute = "resource.kubernetes.io/numaNode";

// Completes what the module said from <sysfs>/bus/pci/devices/<address>: numa_nodes if it gave none (the device's or,
// if that is -1, the nearest bridge's above it), and the three attributes, each unless the module set it itself. What
// sysfs does not know or says strangely is left out. numaNode is published as one number, the first of numa_nodes: the
// list form needs an alpha gate. [core] A few small reads of sysfs, microseconds.
void add_topology(const std::filesystem::path& sysfs, Device& device);

}  // namespace cardcage
