// Waits for the descriptors of an instance: cage.poll of cage_host.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "host/core/result.h"
#include "host/core/unique_fd.h"

namespace cardcage {

// A thread of its own waits with epoll(7) from the first add() to close(). A descriptor that is ready is reported once,
// until rearm().
class DescriptorPoll {
 public:
  // `ready` is called on that thread, with no lock held.
  explicit DescriptorPoll(std::function<void(std::int32_t descriptor)> ready) : ready_(std::move(ready)) {}
  DescriptorPoll(const DescriptorPoll&) = delete;
  DescriptorPoll& operator=(const DescriptorPoll&) = delete;
  ~DescriptorPoll() { close(); }

  // [any-thread] A number whose descriptor was closed without remove() may be added again.
  Status add(std::int32_t descriptor);
  // [any-thread] Fails if it is not polled.
  Status remove(std::int32_t descriptor);
  // [any-thread] True if it was reported, and neither removed nor rearmed since.
  bool is_ready(std::int32_t descriptor);
  // [any-thread] Reports it again if it is ready. Ignored unless it was reported.
  void rearm(std::int32_t descriptor);
  // [one thread at a time, not that of `ready`] Joins the thread and forgets all descriptors. Idempotent; add() starts
  // again.
  void close();

 private:
  Status open();
  void wait(int epoll);
  bool note(std::uint64_t key);

  struct Polled {
    std::uint32_t generation = 0;
    bool ready = false;
  };
  const std::function<void(std::int32_t)> ready_;
  std::mutex mutex_;
  // With the lock held:
  UniqueFd epoll_, end_;  // open while the thread runs; `end_` tells it to end
  std::map<std::int32_t, Polled> polled_;
  bool closing_ = false;
  std::uint32_t generation_ = 0;  // an event of an earlier descriptor with the same number has another one
  std::thread thread_;
};

}  // namespace cardcage
