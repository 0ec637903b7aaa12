// Decides when to retry a failed module.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>

#include "host/core/task.h"

namespace cardcage {

// [core] Each pause is twice as long as the one before, from 1 s to 5 min. A module that fails 10 times within 30 min
// is broken: each further try may reset hardware and fill logs, so there is one in 30 min. The failures are forgotten
// when an operator acts on the module, or when an instance has run for 10 min.
class RestartPolicy {
 public:
  // Records the failure of an instance after `ran`, its time to run or start. Decides the length of the pause, which
  // begins now unless begin_pause() is called later.
  void failed(Instant now, Duration ran);
  // The failed instance is gone: the pause begins.
  void begin_pause(Instant now) { next_try_ = now + pause_; }
  // A module that is broken keeps its pause.
  void skip_pause();
  // An operator acted on the module: forgets its failures and ends the pause.
  void forgive();

  bool is_broken() const { return broken_; }
  Duration pause() const { return pause_; }
  Instant next_try() const { return next_try_; }
  // Returns the failures within the last 30 min.
  std::size_t recent_failures(Instant now) const;

 private:
  static constexpr Duration kFirstPause = std::chrono::seconds(1);
  Duration next_pause_ = kFirstPause;
  Duration pause_{};
  Instant next_try_ = Instant::min();
  std::deque<Instant> failures_;  // the most recent ones
  bool broken_ = false;
};

}  // namespace cardcage
