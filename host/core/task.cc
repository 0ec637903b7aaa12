#include "host/core/task.h"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace cardcage {

void spawn(asio::io_context& core, Task<void> task) {
  asio::co_spawn(core, std::move(task), [](const std::exception_ptr& failure) {
    if (!failure) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      fmt::print(stderr, "cardcage: an exception left a coroutine of the core: {}\n", error.what());
    }
    std::abort();
  });
}

}  // namespace cardcage
