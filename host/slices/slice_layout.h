// Decides which device goes into which slice of a pool.
//
// Published devices stay where they are, because every changed slice costs a write, and a second changed slice costs a
// rewrite of the whole pool under a new generation. So:
//  - a device or counter set stays in its slice, unless the slice's limit drops (with its first taint);
//  - a new device goes into a slice that changes anyway, else into the one with the most room;
//  - empty slices are kept until the pool has more than twice the slices that it needs; then it is laid out afresh, in
//    the order of the devices.
// The layout depends on the stored slices alone, so that two publishers (during a rolling update) agree on it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "host/slices/slice_view.h"

namespace cardcage {

using CounterSet = CounterSets::value_type;

// The content of one slice: rising indices into the devices and counters of the view.
struct SliceBin {
  std::vector<std::size_t> devices, counters;
};

// The current slices of a view's devices and counters. Points into the stored slices.
struct SliceHomes {
  struct Home {
    std::size_t slice = 0;
    const SliceDevice* device = nullptr;  // null = not stored
    bool same = false;                    // the stored device equals the wanted one
  };
  std::vector<const Slice*> slices;                  // by index; null if missing
  std::vector<Home> devices;                         // by index in the view
  std::vector<std::optional<std::size_t>> counters;  // the slice of each counter set, by index in the view

  // `slices` are the slices to keep if possible. If two of them hold a device, the newest one counts.
  static SliceHomes find(const PoolView& view, std::vector<const Slice*> slices);
};

// Returns at least one bin; bins[i] is the slice with index i. `homes` must come from the same view.
std::vector<SliceBin> lay_out(const PoolView& view, const SliceHomes& homes);

// Groups counter sets that share consumers, together with these consumers. Kubernetes 1.34 requires each group to be in
// one slice.
std::vector<SliceBin> group_by_counters(const PoolView& view);

// Compares as the API server does: quantities by amount, taints without the time that the server added.
bool is_same(const SliceDevice& wanted, const SliceDevice& stored);

}  // namespace cardcage
