// How soon a module that failed is tried again.
#pragma once

#include "host/core/task.h"

namespace cardcage {

// [core]
class RestartPolicy {
 public:
  // An instance failed that ran, or tried to, for so long: the pause before the next one. From 1 s to 5 min, each twice
  // as long as the one before; one that ran for 10 min has proven itself, and it begins anew.
  Duration failed(Duration ran);
  // Somebody did something about it.
  void forgive() { next_ = kFirst; }

 private:
  static constexpr Duration kFirst = std::chrono::seconds(1), kLongest = std::chrono::minutes(5);
  Duration next_ = kFirst;
};

}  // namespace cardcage
