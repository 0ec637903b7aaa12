#include "host/slices/slice_writer.h"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <utility>

namespace cardcage {
namespace {

// Whether the server certainly did not apply the write.
bool is_refusal(const Error& error) {
  switch (error.code) {
    case Code::kResourceExhausted:
    case Code::kInvalidArgument:
    case Code::kPermissionDenied:
    case Code::kUnauthenticated: return true;
    default: return false;
  }
}

}  // namespace

Task<Status> SliceWriter::execute(SlicePlan plan) {
  Status done = co_await write_all(&SliceWriter::remove, std::move(plan.deletes));
  if (done) done = co_await write_all(&SliceWriter::update, std::move(plan.updates));
  if (done) done = co_await write_all(&SliceWriter::create, std::move(plan.creates));
  co_return done;
}

Task<Status> SliceWriter::write_all(Write write, std::vector<Slice> slices) {
  if (slices.empty()) co_return Status{};
  Batch batch{.write = write, .slices = std::move(slices), .result = {}};
  co_await work_together(batch, std::min(batch.slices.size(), cluster_.parallel_writes()));
  co_return std::move(batch.result);
}

Task<void> SliceWriter::work_together(Batch& batch, std::size_t workers) {
  using namespace asio::experimental::awaitable_operators;
  if (workers == 1)
    co_await work(batch);
  else
    co_await (work(batch) && work_together(batch, workers - 1));
}

Task<void> SliceWriter::work(Batch& batch) {
  while (batch.result && batch.next < batch.slices.size()) {
    const Status done = co_await (this->*batch.write)(std::move(batch.slices[batch.next++]));
    if (!done && batch.result) batch.result = done;
  }
}

Task<Status> SliceWriter::remove(Slice slice) {
  events_.deleting(slice);
  const Status deleted = co_await cluster_.delete_slice(slice, clock_.now() + timeout_);
  if (!deleted && is_refusal(deleted.error()))
    events_.not_deleted(slice);
  else if (!deleted)
    events_.lost_track();
  co_return deleted;
}

// kUnavailable needs no new list: if the server did apply the update, its event arrives, or the retry conflicts.
Task<Status> SliceWriter::update(Slice slice) {
  const Slice sent = slice;
  auto stored = co_await cluster_.update_slice(std::move(slice), clock_.now() + timeout_);
  if (!stored) {
    if (!is_refusal(stored.error()) && stored.error().code != Code::kUnavailable) events_.lost_track();
    co_return std::unexpected(std::move(stored).error());
  }
  events_.stored(sent, *std::move(stored));
  co_return Status{};
}

Task<Status> SliceWriter::create(Slice slice) {
  const Slice sent = slice;
  auto stored = co_await cluster_.create_slice(std::move(slice), clock_.now() + timeout_);
  if (!stored) {
    if (!is_refusal(stored.error())) events_.lost_track();
    co_return std::unexpected(std::move(stored).error());
  }
  events_.stored(sent, *std::move(stored));
  co_return Status{};
}

}  // namespace cardcage
