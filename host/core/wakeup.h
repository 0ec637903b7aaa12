// Lets a loop of the core sleep until it is woken or a time is reached.
#pragma once

#include "host/core/clock.h"

namespace cardcage {

// [core] For one waiter. A wake() without a waiter is remembered, once.
class Wakeup {
 public:
  explicit Wakeup(asio::io_context& core) : timer_(core) {}

  void wake() {
    woken_ = true;
    timer_.cancel();
  }

  Task<void> wait() {
    timer_.expires_at(Instant::max());
    boost::system::error_code ignored;
    if (!woken_) co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    woken_ = false;
  }

  // Returns at `wake_at` even without a wake().
  Task<void> wait_until(Clock& clock, Instant wake_at) {
    if (!woken_) co_await clock.wait(timer_, wake_at);
    woken_ = false;
  }
  Task<void> wait_for(Clock& clock, Duration duration) { return wait_until(clock, clock.now() + duration); }

 private:
  asio::steady_timer timer_;
  bool woken_ = false;
};

}  // namespace cardcage
