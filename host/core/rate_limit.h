// Lets a burst of events through at once, and then one event per interval.
#pragma once

#include <algorithm>

#include "host/core/task.h"

namespace cardcage {

class RateLimit {
 public:
  RateLimit(int burst, Duration interval) : interval_(interval), tolerance_((burst - 1) * interval) {}

  // When the next event may happen; in the past if it may at any time.
  Instant next() const { return rested_ - tolerance_; }
  // An event happens.
  void take(Instant now) { rested_ = std::max(rested_, now) + interval_; }
  // As if a whole burst happened now.
  void spend(Instant now) { rested_ = now + tolerance_ + interval_; }

 private:
  Duration interval_, tolerance_;
  Instant rested_{};  // from then on the whole burst is available
};

}  // namespace cardcage
