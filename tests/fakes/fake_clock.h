// A clock that tests step by hand.
#pragma once

#include <map>
#include <memory>

#include "host/core/clock.h"

namespace cardcage {

class FakeClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  std::chrono::system_clock::time_point wall() const override { return wall_; }
  Task<void> wait(asio::steady_timer& timer, Instant wake) override;

  // Moves time forward and wakes the sleepers that are due; run the core's ready handlers afterwards.
  void advance(Duration duration);
  // The number of coroutines that sleep. Tests wait for a loop to sleep before they step the clock.
  std::size_t sleepers() const { return sleepers_->size(); }

 private:
  // Starts at the real time: gRPC and modules compare some deadlines of this clock with the real one.
  Instant now_ = std::chrono::steady_clock::now();
  std::chrono::system_clock::time_point wall_{std::chrono::seconds(1'800'000'000)};
  using Sleepers = std::multimap<Instant, asio::steady_timer*>;
  // Shared with sleeping coroutines: those that never resume are destroyed with their core, maybe after the clock.
  const std::shared_ptr<Sleepers> sleepers_ = std::make_shared<Sleepers>();
};

}  // namespace cardcage
