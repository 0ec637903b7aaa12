// Measures for how long a peer has been silent while requests waited for it. Silence without waiting requests is not
// counted: an idle connection and a watch without news are healthy.
#pragma once

#include <optional>

#include "host/core/task.h"

namespace cardcage {

class Silence {
 public:
  void wait_began(Instant now) {
    if (!since_) since_ = now;
  }
  void wait_ended(Instant now) {
    earlier_ = length(now);
    since_.reset();
  }
  // The peer sent something.
  void heard(Instant now) {
    earlier_ = {};
    if (since_) since_ = now;
  }
  Duration length(Instant now) const { return earlier_ + (since_ ? now - *since_ : Duration::zero()); }

 private:
  Duration earlier_{};            // in waits that have ended
  std::optional<Instant> since_;  // begin of the current wait, or of the silence in it
};

}  // namespace cardcage
