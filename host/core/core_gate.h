// Lets other threads post to the core while an object of the core exists.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "host/core/task.h"

namespace cardcage {

// [core] The object owns the gate, and threads that may outlive both keep a Sender. A handler runs only
// while the gate exists, so it may use the gate's owner.
class CoreGate {
  struct State {
    explicit State(asio::io_context& context) : core(&context) {}
    std::mutex mutex;
    asio::io_context* core;  // null once the gate is gone; changes on the core, with the lock held
  };

 public:
  // Keeps nothing of the core alive.
  class Sender {
   public:
    // [any-thread] Dropped if the gate is gone.
    template <class Handler>
    void post(Handler handler) const {
      const std::lock_guard lock(state_->mutex);
      if (state_->core == nullptr) return;
      asio::post(*state_->core, [state = state_, handler = std::move(handler)]() mutable {
        if (state->core != nullptr) handler();
      });
    }

   private:
    friend class CoreGate;
    explicit Sender(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
  };

  explicit CoreGate(asio::io_context& core) : state_(std::make_shared<State>(core)) {}
  CoreGate(const CoreGate&) = delete;
  CoreGate& operator=(const CoreGate&) = delete;
  ~CoreGate() {
    const std::lock_guard lock(state_->mutex);
    state_->core = nullptr;
  }

  Sender sender() const { return Sender(state_); }

 private:
  const std::shared_ptr<State> state_;
};

}  // namespace cardcage
