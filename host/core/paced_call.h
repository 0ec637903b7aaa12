// Calls a function at once, and combines the requests that follow soon into one call after a pause.
#pragma once

#include "host/core/delayed_call.h"

namespace cardcage {

// [core] At most one call per `pause`. The destructor cancels a call that is due.
class PacedCall {
 public:
  // The function may destroy this object.
  PacedCall(asio::io_context& core, Clock& clock, Duration pause, std::function<void()> function)
      : pause_(pause), function_(std::move(function)), next_(core, clock) {}

  void request() {
    requested_ = next_.pending();
    if (requested_) return;
    next_.call_after(pause_, [this] {
      if (requested_) request();
    });
    const auto function = function_;
    function();
  }

 private:
  const Duration pause_;
  const std::function<void()> function_;
  DelayedCall next_;        // runs since the last call
  bool requested_ = false;  // since the last call
};

}  // namespace cardcage
