// Calls events() of a module again and again, by way of the host's cage.poll.
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

  // In the module's start(). Throws cage::Error.
  void start(std::chrono::nanoseconds interval);
  // In its stop().
  void stop();
  // In its events(), for each event: whether this is one of the timer, and it was due.
  bool take(const cage::Event& event) const;

 private:
  cage::Host host_;
  int descriptor_ = -1;
};

}  // namespace cardcage::hardware
