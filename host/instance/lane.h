// A thread that runs jobs one after the other.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace cardcage {

// The thread of a module instance.
class Lane {
 public:
  using Job = std::move_only_function<void()>;

  explicit Lane(const std::string& name);
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  // Waits until the queued jobs are done, unless the thread was left alone.
  ~Lane();

  // [any-thread] Jobs run in the order of their posts. They must not throw.
  void post(Job job);

  // For a job that may never return: a thread cannot be ended from outside, and shutdown must not wait for a module.
  // The thread continues with the queued jobs, keeps their objects alive, and detaches itself at its end.
  void leave_alone();

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Job> jobs;
    bool closed = false;
    std::thread left_alone;  // owned by the thread itself
  };
  static void run(const std::shared_ptr<Shared>& shared);
  void close();

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace cardcage
