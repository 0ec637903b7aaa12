// Chooses the devices for a container when several fit: the host's response to GetPreferredAllocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "host/config/config.h"

namespace cardcage {

// A device id that the kubelet offers.
struct Candidate {
  std::string id;                        // the kubelet's id
  std::string device;                    // shared by all replicas of a device; empty = the id
  std::vector<std::int32_t> numa_nodes;  // empty = unknown
  std::string pcie_root;                 // empty = unknown
  std::string parent;                    // the device of which it is a partition; empty for a whole one
  std::uint32_t in_use = 0;              // replicas of the device in use by containers
};

// Returns `wanted` ids of `available`, or as many as there are: the required ones first, then those that fit best with
// them. Required ids that are not available, and repeated ids, are ignored. The result depends on the arguments alone
// and not on their order. [any-thread]
//
// Packed prefers the fewest NUMA nodes, then the fewest PCIe roots, parents and devices, then the devices that are used
// most, then the groups with the fewest candidates, which keeps large groups whole. Spread divides evenly over NUMA
// nodes, then over devices with their use counted, then over PCIe roots and parents, and then prefers the groups with
// the most candidates. Devices of which a place is unknown count as being in the same place.
//
// The choice is exact, at a cost of |available| x wanted. Beyond kMaxExactCost the first devices in the order of their
// places are taken.
std::vector<std::string> preferred_ids(const std::vector<Candidate>& available,
                                       const std::vector<std::string>& required, std::size_t wanted,
                                       Placement placement);

constexpr std::size_t kMaxExactCost = 1u << 20;

}  // namespace cardcage
