// Tells whether a coroutine has been cancelled.
#pragma once

#include <boost/asio/cancellation_state.hpp>

#include "host/core/task.h"

namespace cardcage {

// For a coroutine whose last wait has ended in any way. In a cancelled one it throws, as awaiting any task does.
inline Task<bool> cancelled() {
  const auto state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

}  // namespace cardcage
