// Calls a function after a pause, unless its owner is destroyed first.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "host/core/clock.h"

namespace cardcage {

// [core] One call at a time. The destructor cancels it.
class DelayedCall {
 public:
  DelayedCall(asio::io_context& core, Clock& clock) : core_(core), clock_(clock) {}
  DelayedCall(DelayedCall&&) = default;
  DelayedCall& operator=(DelayedCall&&) = delete;
  ~DelayedCall() { cancel(); }

  // Replaces a call that is pending. The function may destroy this object.
  void call_at(Instant when, std::function<void()> function) {
    cancel();
    pending_ = std::make_shared<Pending>(std::move(function), asio::steady_timer(core_));
    spawn(core_, run(pending_, clock_, when));
  }
  void call_after(Duration pause, std::function<void()> function) {
    call_at(clock_.now() + pause, std::move(function));
  }
  bool pending() const { return pending_ && pending_->function; }
  void cancel() {
    if (!pending_) return;
    pending_->function = {};
    pending_->timer.cancel();
  }

 private:
  struct Pending {
    std::function<void()> function;  // cleared when it was called or cancelled
    asio::steady_timer timer;
  };
  static Task<void> run(std::shared_ptr<Pending> pending, Clock& clock, Instant when) {
    co_await clock.wait(pending->timer, when);
    if (const auto function = std::exchange(pending->function, {})) function();
  }

  asio::io_context& core_;
  Clock& clock_;
  std::shared_ptr<Pending> pending_;
};

}  // namespace cardcage
