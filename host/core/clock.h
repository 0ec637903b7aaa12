// Time is injected, so that loops are stepped in tests and never slept.
#pragma once

#include <chrono>

#include "host/core/task.h"

namespace cardcage {

class Clock {
 public:
  virtual ~Clock() = default;
  // CLOCK_MONOTONIC, for deadlines and intervals.
  virtual Instant now() const = 0;
  // For what people and Kubernetes read; it may jump.
  virtual std::chrono::system_clock::time_point wall() const = 0;
  // [core] Until `wake`, or somebody cancels the timer, or the surrounding coroutine is cancelled.
  virtual Task<void> wait(asio::steady_timer& timer, Instant wake) = 0;
  // [core] Returns early when the surrounding coroutine is cancelled.
  Task<void> sleep_until(Instant wake);
  Task<void> sleep_for(Duration duration) { return sleep_until(now() + duration); }
};

class SystemClock final : public Clock {
 public:
  Instant now() const override { return std::chrono::steady_clock::now(); }
  std::chrono::system_clock::time_point wall() const override { return std::chrono::system_clock::now(); }
  Task<void> wait(asio::steady_timer& timer, Instant wake) override;
};

}  // namespace cardcage
