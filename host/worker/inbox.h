// Reads the daemon's requests on one of the worker's two threads.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "host/core/descriptors.h"
#include "host/core/unique_fd.h"
#include "host/wire/frame.h"
#include "host/wire/messages.h"

namespace cardcage {

// The module's thread itself reads while it is idle: a call does not wait for another thread to wake up. When a job
// takes longer than some milliseconds, the main thread reads in its place, so that a cancel and a ping get through and
// further calls queue up. The process exits when the daemon has closed the stream.
class Inbox {
 public:
  using Job = std::move_only_function<void()>;

  explicit Inbox(int socket);

  // Takes a request and its descriptors.
  using Taker = std::function<void(wire::Request, Descriptors)>;

  // [main thread] Waits for the next request. Allowed only while the process has no other thread.
  wire::Request next();
  // [main thread] Sets the function that takes every request, on the thread that reads. Call it before work() and
  // stand_in().
  void give_to(Taker taker) { taker_ = std::move(taker); }
  // [taker] Queues a job for the module's thread.
  void post(Job job);

  // [any-thread] Called while a job waits for a message. The module's thread reads until `arrived`, unless another
  // thread reads; other threads get the messages that the reading thread takes.
  void attend(const std::function<bool()>& arrived);

  [[noreturn]] void work();      // [module's thread]
  [[noreturn]] void stand_in();  // [main thread]

 private:
  bool take_one();  // takes a request that has arrived; false if none has
  void receive();
  void run_jobs();
  void set_alarm() const;  // wakes the main thread if the job takes long
  void wait_for_alarm() const;
  bool wait_for_message() const;

  const int socket_;
  const UniqueFd alarm_;      // a timer for long jobs
  const UniqueFd call_back_;  // an event: the module's thread wants to read again
  Taker taker_;
  std::thread::id module_thread_;  // set by work()
  std::mutex reading_;             // held by the reading thread
  FrameReader frames_;
  std::deque<SharedFd> descriptors_;  // received descriptors of requests that have not been taken
  std::atomic<bool> busy_ = false;    // the module's thread executes jobs
  std::mutex mutex_;
  std::deque<Job> jobs_;  // grows only while `reading_` is held
};

}  // namespace cardcage
