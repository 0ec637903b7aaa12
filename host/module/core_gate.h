// The way from other threads to the core, as long as there is one.
#pragma once

#include <mutex>
#include <utility>

#include "host/core/task.h"

namespace cardcage {

// A module thread may outlive the core (see Lane): it shares this and holds nothing else of the core.
class CoreGate {
 public:
  explicit CoreGate(asio::io_context& core) : core_(&core) {}

  // [any-thread] Dropped once the gate is closed.
  template <class Handler>
  void post(Handler handler) {
    const std::lock_guard lock(mutex_);
    if (core_ != nullptr) asio::post(*core_, std::move(handler));
  }
  // [core]
  void close() {
    const std::lock_guard lock(mutex_);
    core_ = nullptr;
  }

 private:
  std::mutex mutex_;
  asio::io_context* core_;
};

}  // namespace cardcage
