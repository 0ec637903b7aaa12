#include "host/slices/slice_mirror.h"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <utility>

#include "host/core/log.h"
#include "host/model/retry_pace.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

// A server that has just started needs seconds until it knows the rights of its users.
constexpr Duration kPauseAfterDenial = 5s;

}  // namespace

SliceMirror::SliceMirror(asio::io_context& core, Clock& clock, Cluster& cluster, Options options, Listener listener)
    : clock_(clock),
      cluster_(cluster),
      options_(std::move(options)),
      listener_(std::move(listener)),
      retry_(100ms, kSpreadOfLists, options_.jitter_seed),
      listed_wake_(core),
      invalidated_wake_(core) {}

Task<Status> SliceMirror::list() {
  auto list =
      co_await cluster_.list_slices(options_.driver, options_.node_name, clock_.now() + options_.request_timeout);
  if (!list) co_return within(list.error(), "cannot list the slices of driver '{}'", options_.driver);
  const SliceStore::Change change = store_.replace(std::move(list->slices));
  version_ = std::move(list->resource_version);
  listed_ = true;
  listed_wake_.wake();
  if (change != SliceStore::Change::kNone) listener_.changed(change);
  co_return Status{};
}

void SliceMirror::invalidate() {
  listed_ = false;
  if (watching_) invalidated_wake_.wake();
}

Task<void> SliceMirror::watch() {
  using namespace asio::experimental::awaitable_operators;
  const std::function<void(SliceEvent)> on_event = [this](SliceEvent event) {
    const SliceStore::Change change = store_.apply(std::move(event));
    if (change != SliceStore::Change::kNone) listener_.changed(change);
  };
  while (true) {
    while (!listed_) co_await listed_wake_.wait();
    const Instant began = clock_.now();
    watching_ = true;
    const auto end = co_await (cluster_.watch_slices(options_.driver, options_.node_name, version_, on_event) ||
                               invalidated_wake_.wait());
    watching_ = false;
    const bool lasted = clock_.now() - began >= kMinWatchTime;
    if (lasted) denied_ = false;
    if (end.index() == 1) continue;
    const Status& status = std::get<0>(end);
    if (status && lasted) {
      retry_.reset();
      listener_.watch_ended();
      continue;
    }
    if (!status) fail_watch(status.error());
    Duration pause = retry_.next(cluster_);
    if (denied_) pause = std::max<Duration>(pause, kPauseAfterDenial);
    co_await cluster_.contact().wait_to_retry(clock_, clock_.now() + pause, kSpreadOfLists);
  }
}

// Returns true if the next watch continues from the last version: after an interruption, and while the server is
// overloaded or has just started and knows no rights yet.
bool SliceMirror::may_continue(Code code) {
  const bool was_denied = std::exchange(denied_, code == Code::kPermissionDenied || code == Code::kUnauthenticated);
  return code == Code::kUnavailable || code == Code::kResourceExhausted || (denied_ && !was_denied);
}

void SliceMirror::fail_watch(const Error& error) {
  // An expired version is normal and only needs a new list; a cancelled watch was stopped.
  if (error.code != Code::kOutOfRange && error.code != Code::kCancelled)
    log_limited(LogLevel::kWarn, "slices-watch/" + options_.driver, "cannot watch slices: " + error.message,
                {{"driver", options_.driver}});
  if (!may_continue(error.code)) invalidate();
  listener_.watch_failed();
}

}  // namespace cardcage
