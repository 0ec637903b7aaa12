// Lets a burst of events through at once, and then one event per interval.
#pragma once

#include <algorithm>

#include "host/core/task.h"

namespace cardcage {

class RateLimit {
 public:
  RateLimit(int burst, Duration interval) : interval_(interval), tolerance_((burst - 1) * interval) {}

  // The time of the next event; in the past if it may happen at any time.
  Instant next() const { return rested_ - tolerance_; }
  // Counts an event.
  void take(Instant now) { rested_ = std::max(rested_, now) + interval_; }
  // Counts a whole burst.
  void spend(Instant now) { rested_ = now + tolerance_ + interval_; }

 private:
  Duration interval_, tolerance_;
  Instant rested_{};  // from then on the whole burst is available
};

}  // namespace cardcage
