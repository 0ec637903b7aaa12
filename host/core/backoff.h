// Growing pauses between attempts, each shortened by chance so that many nodes do not come at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "host/core/task.h"

namespace cardcage {

class Backoff {
 public:
  Backoff(Duration first, Duration longest, std::uint32_t seed)
      : first_(first), longest_(longest), next_(first), random_(seed) {}

  // From half of the pause to all of it; the next one is twice as long.
  Duration next() {
    const Duration pause = next_;
    next_ = std::min(next_ * 2, longest_);
    return std::uniform_int_distribution<Duration::rep>(pause.count() / 2, pause.count())(random_) * Duration(1);
  }
  void reset() { next_ = first_; }

 private:
  Duration first_, longest_, next_;
  std::minstd_rand random_;
};

}  // namespace cardcage
