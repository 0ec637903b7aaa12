// The attributes that mean the same in the devices of all drivers (k8s.io/dynamic-resource-allocation/deviceattribute).
#pragma once

namespace cardcage {

inline constexpr const char* kPcieRootAttribute = "resource.kubernetes.io/pcieRoot";
inline constexpr const char* kPciBusIdAttribute = "resource.kubernetes.io/pciBusID";
// Our own, since there is no standard one: the upstream port of the PCIe switch that the device is behind. The same
// name in all drivers of the host, because constraints compare attributes of one name.
inline constexpr const char* kPcieSwitchAttribute = "cardcage.dev/pcieSwitch";
// A node, or a list of nodes that begins with the device's own (KEP-6072).
inline constexpr const char* kNumaNodeAttribute = "resource.kubernetes.io/numaNode";

}  // namespace cardcage
