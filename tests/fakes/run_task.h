// Runs one coroutine to its end on the thread that calls.
#pragma once

#include <exception>
#include <optional>
#include <stdexcept>

#include "host/core/task.h"

namespace cardcage {

// Runs `core` until `task` ends, at most `limit` of real time, and returns the result of `task`. Other work on the
// core, such as an open connection, does not delay the return.
template <class T>
T run_task(asio::io_context& core, Task<T> task, Duration limit = std::chrono::seconds(30)) {
  std::optional<T> value;
  std::exception_ptr failure;
  asio::co_spawn(core, std::move(task), [&](std::exception_ptr error, T result) {
    failure = error;
    value = std::move(result);
  });
  const Instant end = std::chrono::steady_clock::now() + limit;
  core.restart();
  while (!value && !failure && std::chrono::steady_clock::now() < end && core.run_one_until(end) > 0) {
  }
  if (failure) std::rethrow_exception(failure);
  if (!value) throw std::runtime_error("the task did not end in time");
  return std::move(*value);
}

}  // namespace cardcage
