// Tell whether a coroutine has been cancelled.
#pragma once

#include <boost/asio/cancellation_state.hpp>

#include "host/core/task.h"

namespace cardcage {

// For a coroutine that must not throw: is_cancelled(co_await asio::this_coro::cancellation_state).
inline bool is_cancelled(const asio::cancellation_state& state) {
  return state.cancelled() != asio::cancellation_type::none;
}

// For a coroutine whose last wait has ended in any way. In a cancelled one it throws, as awaiting any task does.
inline Task<bool> cancelled() { co_return is_cancelled(co_await asio::this_coro::cancellation_state); }

}  // namespace cardcage
