// Pauses between attempts: each is twice as long as the one before, shortened at random so that many nodes do not
// retry at the same moment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "host/core/random_duration.h"

namespace cardcage {

class Backoff {
 public:
  Backoff(Duration first, Duration longest, std::uint32_t seed)
      : first_(first), longest_(longest), next_(first), random_(seed) {}
  // Seeded by the name of the retried operation, or of the node.
  Backoff(Duration first, Duration longest, const std::string& name)
      : Backoff(first, longest, static_cast<std::uint32_t>(std::hash<std::string>()(name))) {}

  // A random duration between half of the current pause and all of it. The next pause is twice as long.
  Duration next() {
    const Duration pause = next_;
    next_ = std::min(next_ * 2, longest_);
    return random_duration(pause / 2, pause, random_);
  }
  void reset() { next_ = first_; }

 private:
  Duration first_, longest_, next_;
  std::minstd_rand random_;
};

}  // namespace cardcage
