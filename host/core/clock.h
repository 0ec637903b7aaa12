// Time is injected, so that tests step through loops and never sleep.
#pragma once

#include <chrono>

#include "host/core/task.h"

namespace cardcage {

class Clock {
 public:
  virtual ~Clock() = default;
  // CLOCK_MONOTONIC, for deadlines and intervals.
  virtual Instant now() const = 0;
  // The time of day, for people and for Kubernetes objects. It may jump.
  virtual std::chrono::system_clock::time_point wall() const = 0;
  // [core] Returns at `wake`, or earlier when the timer or the surrounding coroutine is cancelled.
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
