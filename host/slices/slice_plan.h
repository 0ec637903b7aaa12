// What to write so that the slices of a pool become what they should be. Pure: no clock, no I/O.
//
// Rules of a pool (KEP-4381): consumers look only at the slices of the highest generation, and only if there are
// resourceSliceCount of them. Therefore
//  - one changed slice is written under its generation: every state in between is a whole pool;
//  - slices that are missing are created under the generation of those that are there, if none of those changes: the
//    pool is incomplete until the last one is back;
//  - anything else gets a new generation and writes every slice; until the last one the pool is incomplete.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/slices/slice_view.h"

namespace cardcage {

struct SliceOwner {
  std::string driver, node_name, node_uid;
};

// The writes, to be made in this order: deletes, updates, creates. A failure in between leaves what the next plan
// continues from.
struct SlicePlan {
  std::vector<Slice> deletes, updates, creates;
  std::int64_t generation = 0;
  std::size_t slices = 0;  // of the pool when all is written

  bool empty() const { return deletes.empty() && updates.empty() && creates.empty(); }
  std::size_t writes() const { return deletes.size() + updates.size() + creates.size(); }
};

// `stored` are all slices of the pool that have this driver and node, in any order and state.
SlicePlan plan_slices(const SliceOwner& owner, const std::string& pool, const PoolView& view,
                      std::span<const Slice* const> stored);

// "0002a-gpu.example.com-node7-", at most 58 bytes: the server cuts a longer base (apiserver names.go), and its index
// decides the order in which the scheduler looks at slices.
std::string slice_name_base(std::size_t index, const std::string& driver, const std::string& node_name);
// The index of a slice that was named so.
std::optional<std::size_t> slice_index(const std::string& name);

// True if the server stored the devices and counters that were sent.
bool is_same_content(const Slice& sent, const Slice& stored);

}  // namespace cardcage
