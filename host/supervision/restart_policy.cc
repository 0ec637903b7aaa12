#include "host/supervision/restart_policy.h"

#include <algorithm>

namespace cardcage {
namespace {

constexpr Duration kLongest = std::chrono::minutes(5);
constexpr Duration kProven = std::chrono::minutes(10);
constexpr std::size_t kTooMany = 10;
constexpr Duration kWindow = std::chrono::minutes(30), kBrokenPause = std::chrono::minutes(30);

}  // namespace

Duration RestartPolicy::failed(Instant now, Duration ran) {
  if (ran > kProven) {
    next_ = kFirst;
    broken_ = false;
  }
  while (!failures_.empty() && now - failures_.front() > kWindow) failures_.pop_front();
  failures_.push_back(now);
  if (failures_.size() > kTooMany) failures_.pop_front();
  broken_ = broken_ || failures_.size() == kTooMany;
  const Duration pause = std::exchange(next_, std::min(next_ * 2, kLongest));
  return broken_ ? kBrokenPause : pause;
}

void RestartPolicy::forgive() {
  next_ = kFirst;
  failures_.clear();
  broken_ = false;
}

std::size_t RestartPolicy::recent_failures(Instant now) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(failures_, [now](Instant failure) { return now - failure <= kWindow; }));
}

}  // namespace cardcage
