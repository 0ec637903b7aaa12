// Random times, so that many nodes do not act at the same moment.
#pragma once

#include <random>

#include "host/core/task.h"

namespace cardcage {

// Returns a duration from `least` to `most`, both included.
inline Duration random_duration(Duration least, Duration most, std::minstd_rand& random) {
  return Duration(std::uniform_int_distribution<Duration::rep>(least.count(), most.count())(random));
}

}  // namespace cardcage
