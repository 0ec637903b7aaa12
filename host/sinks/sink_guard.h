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
  SinkGuard(const SinkGuard&) = delete;
  SinkGuard& operator=(const SinkGuard&) = delete;

 protected:
  // `sink` is the name of the C type in messages.
  SinkGuard(std::string module, std::string sink) : module_(std::move(module)), sink_(std::move(sink)) {}

  void open() {
    refusal_.reset();
    owner_.store(std::this_thread::get_id());
  }
  void close() { owner_.store(std::thread::id()); }

  // [any-thread] An entry of a sink's C table, whose host_data is the sink. Calls `Method`, which returns a Status, on
  // the thread of the open call, and refuses every other thread. Keeps the first error of a call.
  template <auto Method, class Table, class... Args>
  static cage_status call(Table* table, Args... args) {
    auto& sink = sink_of(Method, table->host_data);
    if (sink.owner_.load() != std::this_thread::get_id()) return sink.refuse_stranger();
    const Status done = (sink.*Method)(args...);
    if (done) return CAGE_OK;
    if (!sink.refusal_) sink.refusal_ = done.error();
    return static_cast<cage_status>(done.error().code);
  }

  const std::string& module() const { return module_; }
  const std::optional<Error>& refusal() const { return refusal_; }

 private:
  template <class Sink, class... Args>
  static Sink& sink_of(Status (Sink::*)(Args...), void* host_data) {
    return *static_cast<Sink*>(host_data);
  }
  cage_status refuse_stranger();

  std::string module_, sink_;
  std::atomic<std::thread::id> owner_{};
  std::optional<Error> refusal_;
  std::atomic<std::uint64_t> strangers_{0};  // refused uses: after the call, or from another thread
};

}  // namespace cardcage
