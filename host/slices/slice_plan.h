// Plans the writes that bring the slices of a pool to the wanted state. Pure: no clock, no I/O.
//
// Consumers of a pool read only the slices of the highest generation, and only if it has resourceSliceCount of them
// (KEP-4381). Therefore
//  - a single changed slice is written under its generation: the pool is complete at any time;
//  - missing slices are created under the generation of the others, if none of the others changes: the pool is
//    incomplete until the last one is back;
//  - any other change writes every slice under a new generation: the pool is incomplete until the last write.
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

// The writes, in this order: deletes, updates, creates. After a failure in between, the next plan continues from the
// stored slices.
struct SlicePlan {
  std::vector<Slice> deletes, updates, creates;
  std::int64_t generation = 0;
  std::size_t slices = 0;  // slices of the pool after all writes

  bool empty() const { return deletes.empty() && updates.empty() && creates.empty(); }
  std::size_t writes() const { return deletes.size() + updates.size() + creates.size(); }
};

// `stored` holds all slices of the pool with this driver and node, in any order and state.
SlicePlan plan_slices(const SliceOwner& owner, const std::string& pool, const PoolView& view,
                      std::span<const Slice* const> stored);

// Returns "0002a-gpu.example.com-node7-", at most 58 bytes, since the API server cuts a longer base (k8s.io/apiserver
// names.go). The scheduler reads slices in the order of their names, hence of their indices.
std::string slice_name_base(std::size_t index, const std::string& driver, const std::string& node_name);
// Returns the index in a name that begins with slice_name_base.
std::optional<std::size_t> slice_index(const std::string& name);

// Returns true if the server stored the sent devices, counters and calls to skip.
bool is_same_content(const Slice& sent, const Slice& stored);

}  // namespace cardcage
