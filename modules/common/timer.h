// Calls a module's events() at an interval, through the host's cage.poll.
#pragma once

#include <cardcage/sdk.hpp>
#include <chrono>

namespace cardcage::hardware {

class Timer {
 public:
  explicit Timer(cage::Host host) : host_(host) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer();

  // For the module's start(). Throws cage::Error.
  void start(std::chrono::nanoseconds interval);
  // For the module's stop().
  void stop();
  // For the module's events(), for each event: returns whether the event is the timer's, and the timer was due.
  bool take(const cage::Event& event) const;

 private:
  cage::Host host_;
  int descriptor_ = -1;
};

}  // namespace cardcage::hardware
