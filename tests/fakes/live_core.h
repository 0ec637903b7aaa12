// The core on its own thread, as in the daemon: for tests with real sockets.
#pragma once

#include <boost/asio/packaged_task.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <stdexcept>
#include <thread>

#include "host/core/task.h"

namespace cardcage {

class LiveCore {
 public:
  LiveCore() : work_(asio::make_work_guard(core_)), thread_([this] { core_.run(); }) {}
  ~LiveCore() {
    work_.reset();
    core_.stop();
  }

  asio::io_context& context() { return core_; }

  // Runs `function` on the core and returns its result.
  template <class Function>
  auto call(Function function) {
    return finished(asio::post(core_, std::packaged_task<decltype(function())()>(std::move(function))));
  }
  // Runs the coroutine on the core to its end.
  template <class T>
  T run(Task<T> task) {
    return finished(asio::co_spawn(core_, std::move(task), asio::use_future));
  }

 private:
  template <class T>
  static T finished(std::future<T> result) {
    if (result.wait_for(std::chrono::seconds(30)) != std::future_status::ready)
      throw std::runtime_error("the core did not finish in time");
    return result.get();
  }

  asio::io_context core_{1};
  asio::executor_work_guard<Executor> work_;
  std::jthread thread_;
};

}  // namespace cardcage
