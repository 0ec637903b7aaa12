// Waits for events on other threads and in other processes.
#pragma once

#include <functional>
#include <thread>

#include "host/core/task.h"

namespace cardcage {

// True as soon as `condition` is, false after `limit`. `pause` may return early when something has changed.
inline bool eventually(
    const std::function<bool()>& condition, std::chrono::milliseconds limit = std::chrono::seconds(30),
    const std::function<void()>& pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }) {
  const Instant end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    pause();
  }
  return true;
}

}  // namespace cardcage
