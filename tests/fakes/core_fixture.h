// Runs the core on the test's own thread, a coroutine at a time.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <optional>

#include "host/core/task.h"

namespace cardcage {

class CoreFixture : public ::testing::Test {
 protected:
  // Runs `task` to its end (at most `limit` of real time) and returns what it returned.
  template <class T>
  T run(Task<T> task, Duration limit = std::chrono::seconds(10)) {
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
  void run(Task<void> task, Duration limit = std::chrono::seconds(10)) {
    run(
        [](Task<void> inner) -> Task<bool> {
          co_await std::move(inner);
          co_return true;
        }(std::move(task)),
        limit);
  }
  // Runs every handler that is ready now.
  void settle() {
    core.restart();
    while (core.poll() > 0) {
    }
  }
  // Runs the core until `done`, at most 5 s of real time.
  bool runs_until(const std::function<bool()>& done) {
    const Instant end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    core.restart();
    while (!done() && std::chrono::steady_clock::now() < end) core.run_one_for(std::chrono::milliseconds(10));
    return done();
  }

  asio::io_context core;
};

}  // namespace cardcage
