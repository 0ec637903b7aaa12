// Coroutines that use their owner, and that the owner joins before it goes.
#pragma once

#include <utility>

#include "host/core/wakeup.h"

namespace cardcage {

// [core] Outlives the coroutines.
class TaskGroup {
 public:
  explicit TaskGroup(asio::io_context& core) : core_(core), ended_(core) {}

  void spawn(Task<void> task) {
    ++running_;
    cardcage::spawn(core_, run(std::move(task)));
  }
  // Returns when none is running any more, or at `deadline`. For one waiter.
  Task<void> join(Clock& clock, Instant deadline) {
    while (running_ > 0 && clock.now() < deadline) co_await ended_.wait_until(clock, deadline);
  }

 private:
  Task<void> run(Task<void> task) {
    co_await std::move(task);
    --running_;
    ended_.wake();
  }

  asio::io_context& core_;
  Wakeup ended_;
  std::size_t running_ = 0;
};

}  // namespace cardcage
