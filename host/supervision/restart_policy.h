// How soon a module that failed is tried again.
#pragma once

#include <deque>

#include "host/core/task.h"

namespace cardcage {

// [core] First a back-off: from 1 s to 5 min, each pause twice as long as the one before. A module that goes on failing
// is broken after 10 failures within 30 min: it is tried once in 30 min then, since each try may reset hardware and
// fill logs, until somebody does something about it or an instance has run for 10 min.
class RestartPolicy {
 public:
  // An instance failed that ran, or tried to, for so long: the pause before the next one.
  Duration failed(Instant now, Duration ran);
  // Somebody did something about it.
  void forgive();

  bool is_broken() const { return broken_; }
  // Within the last 30 min.
  std::size_t recent_failures(Instant now) const;

 private:
  static constexpr Duration kFirst = std::chrono::seconds(1);
  Duration next_ = kFirst;
  std::deque<Instant> failures_;  // that count
  bool broken_ = false;
};

}  // namespace cardcage
