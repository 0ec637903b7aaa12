// Which devices a container should get where several would do: the host's answer to GetPreferredAllocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "host/config/config.h"

namespace cardcage {

// What the kubelet offers.
struct Candidate {
  std::string id;                        // the kubelet's
  std::string device;                    // the same for all replicas of a device; empty = the id
  std::vector<std::int32_t> numa_nodes;  // empty = unknown
  std::string pcie_root;                 // empty = unknown
  std::string parent;                    // the device that it is a partition of; empty for a whole one
  std::uint32_t in_use = 0;              // how many replicas of the device containers have already
};

// `wanted` ids of `available`, or as many as there are: the required ones first, then those that go best with them. Ids
// that are not available or come again count as if they were not there. A function of its arguments alone, in whatever
// order they come. [any-thread]
//
// Packed: in as few NUMA nodes as can be; of these choices the one in the fewest PCIe roots, then parents, then
// devices; then the devices that are used most; then the groups with the fewest candidates, which keeps the large ones
// whole. Spread: evenly over NUMA nodes; then over devices, counting what is used; then over PCIe roots and parents;
// then the groups with the most candidates. What is unknown of several devices counts as the same.
//
// The choice is exact, at a cost of |available| x wanted. Where that is beyond kMostWeighing, devices are taken in the
// order of their places, as they come.
std::vector<std::string> preferred_ids(const std::vector<Candidate>& available,
                                       const std::vector<std::string>& required, std::size_t wanted,
                                       Placement placement);

constexpr std::size_t kMostWeighing = 1u << 20;

}  // namespace cardcage
