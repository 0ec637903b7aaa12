// Runs the core on the test's own thread, one coroutine at a time.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "tests/fakes/run_task.h"

namespace cardcage {

class CoreFixture : public ::testing::Test {
 protected:
  // Runs `task` to its end (at most `limit` of real time) and returns its result.
  template <class T>
  T run(Task<T> task, Duration limit = std::chrono::seconds(10)) {
    return run_task(core, std::move(task), limit);
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
  // Runs the core until `done`; false if that takes longer than 30 s of real time.
  bool runs_until(const std::function<bool()>& done) {
    const Instant end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!done() && std::chrono::steady_clock::now() < end) {
      core.restart();  // it stops when only another thread has work
      core.run_one_for(std::chrono::milliseconds(10));
    }
    return done();
  }

  asio::io_context core;
};

}  // namespace cardcage
