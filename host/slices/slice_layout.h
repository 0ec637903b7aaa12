// Which device goes into which slice of a pool.
//
// What is published stays where it is, because every slice that changes costs a write, and a second one costs a
// rewrite of the whole pool under a new generation. So:
//  - a device or counter set that is in a slice stays in it, unless the slice has got a lower limit (a first taint);
//  - what is new goes into a slice that changes anyway, else into the one with most room;
//  - slices that became empty are kept, until the pool has more than twice the slices that it needs: then it is laid
//    out afresh, in the order of the devices.
// The layout follows from what is stored alone: two publishers (a rolling update) come to the same one.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "host/slices/slice_view.h"

namespace cardcage {

using CounterSet = CounterSets::value_type;

// The content of one slice: indices into the devices and counters of the view, rising.
struct SliceBin {
  std::vector<std::size_t> devices, counters;
};

// Where everything of a view is now. Points into the stored slices.
struct SliceHomes {
  struct Home {
    std::size_t slice = 0;
    const SliceDevice* device = nullptr;  // null = nowhere
    bool same = false;                    // it is already as wanted
  };
  std::vector<const Slice*> slices;                  // by index; null where one is missing
  std::vector<Home> devices;                         // by index in the view
  std::vector<std::optional<std::size_t>> counters;  // the slice, by index in the view

  // `slices` are those that stay if they can; a device that is in two counts in the newest.
  static SliceHomes find(const PoolView& view, std::vector<const Slice*> slices);
};

// At least one bin; bins[i] is the slice of index i. `homes` is of the same view.
std::vector<SliceBin> lay_out(const PoolView& view, const SliceHomes& homes);

// Counter sets that share consumers, and those: what Kubernetes 1.34 wants in one slice.
std::vector<SliceBin> group_by_counters(const PoolView& view);

// As the API server compares: quantities by amount, a taint without the time that the server gave it.
bool is_same(const SliceDevice& wanted, const SliceDevice& stored);

}  // namespace cardcage
