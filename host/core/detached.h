// Work that may block forever, such as a look at a file system that does not respond.
#pragma once

#include <functional>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "host/core/clock.h"
#include "host/core/core_gate.h"

namespace cardcage {

// [core] Passes `begin` a job that runs `work`, which may outlive the core. Returns the result, or nothing if the
// deadline passes or the surrounding coroutine ends first.
template <class Work, class Begin>
auto run_outside(asio::io_context& core, Clock& clock, Instant deadline, Work work, Begin begin)
    -> Task<std::optional<std::invoke_result_t<Work&>>> {
  std::optional<std::invoke_result_t<Work&>> result;
  const OneShot<bool> ended(core);
  const CoreGate gate(core);  // handlers use the locals only while it exists
  begin([&result, &ended, to_core = gate.sender(), work = std::move(work)]() mutable {
    to_core.post([&result, &ended, made = work()]() mutable {
      result.emplace(std::move(made));
      ended.set(true);
    });
  });
  co_await ended.wait_until(clock, deadline);
  co_return std::move(result);
}

// [core] Does the same on a thread of its own, which is left behind if it does not end in time.
template <class T>
Task<std::optional<T>> run_detached(asio::io_context& core, Clock& clock, std::function<T()> work, Instant deadline) {
  return run_outside(core, clock, deadline, std::move(work), [](auto job) { std::thread(std::move(job)).detach(); });
}

}  // namespace cardcage
