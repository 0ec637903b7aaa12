// Work that may block forever, such as a look at a file system that does not respond.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "host/core/clock.h"

namespace cardcage {

// [core] Runs `work` on a thread of its own. Returns its result, or nothing if the deadline passes or the surrounding
// coroutine ends first; then the thread is left behind, and may outlive the core.
template <class T>
Task<std::optional<T>> run_detached(asio::io_context& core, Clock& clock, std::function<T()> work, Instant deadline) {
  struct Shared {
    std::mutex mutex;
    std::optional<OneShot<T>> asked;  // empty once the core does not wait any more
  };
  struct GiveUp {
    void operator()(Shared* shared) const {
      const std::scoped_lock lock(shared->mutex);
      shared->asked.reset();
    }
  };
  const OneShot<T> done(core);
  const auto shared = std::make_shared<Shared>();
  shared->asked = done;
  const std::unique_ptr<Shared, GiveUp> waiting(shared.get());
  std::thread([shared, work = std::move(work)] {
    T result = work();
    const std::scoped_lock lock(shared->mutex);
    if (shared->asked) shared->asked->set(std::move(result));
  }).detach();
  auto result = co_await done.wait_until(clock, deadline);
  co_return result;
}

}  // namespace cardcage
