// Waits for what happens on other threads and in other processes.
#pragma once

#include <functional>
#include <thread>

#include "host/core/task.h"

namespace cardcage {

// False if it has not become true in time. `pause` may be cut short by whoever knows that something has changed.
inline bool eventually(
    const std::function<bool()>& condition, std::chrono::milliseconds limit = std::chrono::seconds(5),
    const std::function<void()>& pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }) {
  const Instant end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    pause();
  }
  return true;
}

}  // namespace cardcage
