// Writes the slices of a plan to the cluster.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "host/core/clock.h"
#include "host/model/cluster.h"
#include "host/slices/slice_plan.h"

namespace cardcage {

// Called on the core while other writes of the same plan are in progress.
struct WriteEvents {
  std::function<void(const Slice&)> deleting;     // called before the delete
  std::function<void(const Slice&)> not_deleted;  // the server refused to delete it
  std::function<void(const Slice& sent, Slice stored)> stored;
  std::function<void()> lost_track;  // only a list can tell what is stored now
};

// [core] Must outlive its calls.
class SliceWriter {
 public:
  // `timeout` limits each write.
  SliceWriter(Clock& clock, Cluster& cluster, Duration timeout, WriteEvents events)
      : clock_(clock), cluster_(cluster), timeout_(timeout), events_(std::move(events)) {}

  // Deletes, then updates, then creates slices, several at a time. After a failure it starts no other write, and
  // returns the first failure.
  Task<Status> execute(SlicePlan plan);

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
