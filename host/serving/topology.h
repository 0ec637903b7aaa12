// The place of a PCI device in the machine, as standard attributes of Kubernetes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "host/config/config.h"
#include "host/model/device.h"

namespace cardcage {

// [core] One reading of sysfs for the devices of a snapshot: a few small reads per device, some microseconds.
class Topology {
 public:
  Topology(std::filesystem::path sysfs, NumaAttribute numa) : sysfs_(std::move(sysfs)), numa_(numa) {}

  // Adds attributes that the module left out from <sysfs>/bus/pci/devices/<address>: numa_nodes (of the device or, if
  // that is -1, of the nearest bridge above it) and the standard attributes, and kPcieSwitchAttribute. Values that
  // sysfs does not have, or that cannot be parsed, stay unset. numaNode is the first of numa_nodes, or the list that
  // near_nodes() makes of it. If a module names several nodes, these are the near ones.
  void add_to(Device& device);

 private:
  const std::filesystem::path sysfs_;
  const NumaAttribute numa_;
  std::map<std::int32_t, std::vector<std::int64_t>> near_;  // results of near_nodes(), by node
};

// Returns the node, then in rising order those at the smallest distance from it in the same processor package
// (KEP-6072). A node without a processor, whose package is unknown, counts as in the same package. Without distances
// the result is the node alone.
std::vector<std::int64_t> near_nodes(const std::filesystem::path& sysfs, std::int32_t node);

}  // namespace cardcage
