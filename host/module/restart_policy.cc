#include "host/module/restart_policy.h"

#include <algorithm>

namespace cardcage {
namespace {

constexpr Duration kProven = std::chrono::minutes(10);

}  // namespace

Duration RestartPolicy::failed(Duration ran) {
  if (ran > kProven) forgive();
  return std::exchange(next_, std::min(next_ * 2, kLongest));
}

}  // namespace cardcage
