// Part of every sink: lets one thread use it during one call and refuses every other use.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include "cardcage/module.h"
#include "host/core/result.h"

namespace cardcage {

// A sink lives as long as its instance and is opened for each call, so that a module that keeps the pointer [R3] gets a
// refusal and does not touch freed memory.
class SinkGuard {
 public:
  // `sink` is the name of the C type in messages.
  SinkGuard(std::string module, std::string sink) : module_(std::move(module)), sink_(std::move(sink)) {}

  void open() {
    refusal_.reset();
    owner_.store(std::this_thread::get_id());
  }
  void close() { owner_.store(std::thread::id()); }

  // [any-thread] Runs `work`, which returns a Status, on the thread of the open call and refuses every other thread.
  // Keeps the first error of a call.
  template <class Work>
  cage_status run(Work work) {
    if (owner_.load() != std::this_thread::get_id()) return refuse_stranger();
    const Status done = work();
    if (done) return CAGE_OK;
    if (!refusal_) refusal_ = done.error();
    return static_cast<cage_status>(done.error().code);
  }

  bool is_open() const { return owner_.load() == std::this_thread::get_id(); }
  const std::string& module() const { return module_; }
  const std::optional<Error>& refusal() const { return refusal_; }
  // The number of refused uses: after the call, or from another thread.
  std::uint64_t strangers() const { return strangers_.load(); }

 private:
  cage_status refuse_stranger();

  std::string module_, sink_;
  std::atomic<std::thread::id> owner_{};
  std::optional<Error> refusal_;
  std::atomic<std::uint64_t> strangers_{0};
};

}  // namespace cardcage
