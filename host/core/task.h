// Coroutines of the core, and their results from other threads.
//
// The core is one io_context that one thread runs. It owns all shared state, and a Task never leaves it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "host/core/result.h"

namespace cardcage {

namespace asio = boost::asio;

template <class T>
using Task = asio::awaitable<T>;
using Executor = asio::io_context::executor_type;

using Instant = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

// Starts a coroutine that no caller waits for. It handles its own errors: an exception that leaves it aborts the
// process.
void spawn(asio::io_context& core, Task<void> task);

// For a coroutine that works for a long time without waiting.
inline Task<void> let_others_run() { co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable); }

// A value that another thread produces once and one coroutine of the core waits for. Copies share the value. Only the
// first set() counts. If the waiter has gone (deadline, shutdown), the value is dropped, so that a module that never
// returns cannot hold up a request.
template <class T>
class OneShot {
 public:
  explicit OneShot(asio::io_context& core) : state_(std::make_shared<State>(core)) {}

  // [any-thread]
  void set(T value) const {
    asio::dispatch(state_->core, [state = state_, value = std::move(value)]() mutable {
      if (state->value) return;
      state->value = std::move(value);
      state->ready.cancel();
    });
  }

  // [core] The value, or nothing if `deadline` passes or the surrounding coroutine is cancelled first.
  template <class Clock>
  Task<std::optional<T>> wait_until(Clock& clock, Instant deadline) const {
    auto state = state_;
    if (!state->value) co_await clock.wait(state->ready, deadline);
    co_return std::move(state->value);
  }
  Task<T> wait() const {
    auto state = state_;
    state->ready.expires_at(Instant::max());
    boost::system::error_code ignored;
    if (!state->value) co_await state->ready.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    co_return std::move(*state->value);
  }

 private:
  struct State {
    explicit State(asio::io_context& context) : core(context), ready(context) {}
    asio::io_context& core;
    asio::steady_timer ready;
    std::optional<T> value;
  };
  std::shared_ptr<State> state_;
};

}  // namespace cardcage
