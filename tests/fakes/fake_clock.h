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
  Task<void> sleep_until(Instant wake) override;

  // Moves time on and wakes the sleepers that are due; run the core's ready handlers afterwards.
  void advance(Duration duration);
  // How many coroutines sleep: tests wait for a loop to come to rest before they step it.
  std::size_t sleepers() const { return sleepers_.size(); }

 private:
  // Deadlines made from it are waited for in real time (OneShot::wait_until), so they must not have passed.
  Instant now_ = std::chrono::steady_clock::now();
  std::chrono::system_clock::time_point wall_{std::chrono::seconds(1'800'000'000)};
  std::multimap<Instant, std::shared_ptr<asio::steady_timer>> sleepers_;
};

}  // namespace cardcage
