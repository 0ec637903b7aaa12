// What the daemon sends to a worker, and which of its two threads reads it.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "host/core/unique_fd.h"
#include "host/wire/frame.h"
#include "host/wire/messages.h"

namespace cardcage {

// The module's thread reads by itself while it has nothing to do: a call then waits for no other thread to wake up.
// Once a job takes longer than some milliseconds the main thread stands in, so that a cancel and a ping get through and
// further calls queue up. The process ends when the daemon has closed the stream.
class Inbox {
 public:
  using Job = std::move_only_function<void()>;

  explicit Inbox(int socket);

  // The next request. [main thread] while it is the only one.
  wire::Request next();
  // [main thread] Before work() and stand_in(): what becomes of a request. Called by whichever thread reads.
  void give_to(std::function<void(wire::Request)> taker) { taker_ = std::move(taker); }
  // [taker] For the module's thread, in the order of the posts.
  void post(Job job);

  [[noreturn]] void work();      // [module's thread]
  [[noreturn]] void stand_in();  // [main thread]

 private:
  bool take_one();  // of what has arrived
  void receive();
  void run_jobs();
  void wait_for_alarm() const;
  bool wait_for_message() const;

  const int socket_;
  const UniqueFd alarm_;      // a timer: a job takes long
  const UniqueFd call_back_;  // an event: the module's thread wants to read again
  std::function<void(wire::Request)> taker_;
  std::mutex reading_;  // whoever has it is the one that reads
  FrameReader frames_;
  std::atomic<bool> busy_ = false;  // the module's thread is
  std::mutex mutex_;
  std::deque<Job> jobs_;  // grows only while `reading_` is held
};

}  // namespace cardcage
