// Carries out plans.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "host/core/clock.h"
#include "host/model/cluster.h"
#include "host/slices/slice_plan.h"

namespace cardcage {

// Called on the core, while other writes of the same plan are under way.
struct WriteEvents {
  std::function<void(const Slice&)> deleting;  // before it is
  std::function<void(const Slice& sent, Slice stored)> updated, created;
};

// [core] Outlives its calls.
class SliceWriter {
 public:
  // Each write may take `timeout`.
  SliceWriter(Clock& clock, Cluster& cluster, Duration timeout, WriteEvents events)
      : clock_(clock), cluster_(cluster), timeout_(timeout), events_(std::move(events)) {}

  // Deletes, then updates, then creates, 8 at once. Begins no other write after one that failed; the answer is
  // the first failure.
  Task<Status> carry_out(SlicePlan plan);

 private:
  using Write = Task<Status> (SliceWriter::*)(Slice);
  struct Batch {
    Write write;
    std::vector<Slice> slices;
    std::size_t next = 0;
    Status result;
  };

  Task<Status> write_all(Write write, std::vector<Slice> slices);
  Task<void> work_together(Batch& batch, std::size_t workers);
  Task<void> work(Batch& batch);
  Task<Status> remove(Slice slice);
  Task<Status> update(Slice slice);
  Task<Status> create(Slice slice);

  Clock& clock_;
  Cluster& cluster_;
  const Duration timeout_;
  const WriteEvents events_;
};

}  // namespace cardcage
