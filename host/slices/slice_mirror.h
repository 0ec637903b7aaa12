// The slices of one driver and node as the API server stores them: a list, then watches that continue it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "host/core/clock.h"
#include "host/core/wakeup.h"
#include "host/model/cluster_backoff.h"
#include "host/slices/slice_store.h"

namespace cardcage {

// [core] Must outlive watch().
class SliceMirror {
 public:
  struct Options {
    std::string driver, node_name;
    Duration request_timeout;
    std::uint32_t jitter_seed;
  };
  struct Listener {
    std::function<void(SliceStore::Change)> changed;  // by other clients
    std::function<void()> watch_ended;                // the server ended a watch after its time
    std::function<void()> watch_failed;               // the list may be invalid now
  };
  SliceMirror(asio::io_context& core, Clock& clock, Cluster& cluster, Options options, Listener listener);

  SliceStore& store() { return store_; }
  // Returns false before the first list, and when the next one is due.
  bool listed() const { return listed_; }
  Task<Status> list();
  // Makes the next list due. The watch ends before that, since its events may be newer than the list; it continues from
  // the list.
  void invalidate();
  // Runs until the surrounding coroutine is cancelled.
  Task<void> watch();

 private:
  void fail_watch(const Error& error);
  bool may_continue(Code code);

  Clock& clock_;
  Cluster& cluster_;
  const Options options_;
  const Listener listener_;
  SliceStore store_;
  std::string version_;  // the store includes every event up to this version
  bool listed_ = false, watching_ = false;
  bool denied_ = false;  // a watch was denied, and none has lasted since
  ClusterBackoff retry_;
  Wakeup listed_wake_, invalidated_wake_;
};

}  // namespace cardcage
