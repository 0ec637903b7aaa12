// Attributes with the same meaning in the devices of all drivers (k8s.io/dynamic-resource-allocation/deviceattribute).
#pragma once

namespace cardcage {

inline constexpr const char* kPcieRootAttribute = "resource.kubernetes.io/pcieRoot";
inline constexpr const char* kPciBusIdAttribute = "resource.kubernetes.io/pciBusID";
// The upstream port of the PCIe switch above the device; our own name, because no standard one exists. It is the same
// in all drivers of the host, because constraints compare attributes of one name.
inline constexpr const char* kPcieSwitchAttribute = "cardcage.dev/pcieSwitch";
// A node, or a list of nodes that begins with the device's own (KEP-6072).
inline constexpr const char* kNumaNodeAttribute = "resource.kubernetes.io/numaNode";

}  // namespace cardcage
