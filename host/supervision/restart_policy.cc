#include "host/supervision/restart_policy.h"

#include <algorithm>
#include <utility>

namespace cardcage {
namespace {

constexpr Duration kMaxPause = std::chrono::minutes(5), kBrokenPause = std::chrono::minutes(30);
constexpr Duration kProvenAfter = std::chrono::minutes(10);
constexpr std::size_t kMaxFailures = 10;
constexpr Duration kFailureWindow = std::chrono::minutes(30);

}  // namespace

void RestartPolicy::failed(Instant now, Duration ran) {
  if (ran > kProvenAfter) {
    next_pause_ = kFirstPause;
    broken_ = false;
  }
  while (!failures_.empty() && now - failures_.front() > kFailureWindow) failures_.pop_front();
  failures_.push_back(now);
  if (failures_.size() > kMaxFailures) failures_.pop_front();
  broken_ = broken_ || failures_.size() == kMaxFailures;
  pause_ = std::exchange(next_pause_, std::min(next_pause_ * 2, kMaxPause));
  if (broken_) pause_ = kBrokenPause;
  begin_pause(now);
}

void RestartPolicy::skip_pause() {
  if (!broken_) next_try_ = Instant::min();
}

void RestartPolicy::forgive() {
  next_pause_ = kFirstPause;
  next_try_ = Instant::min();
  failures_.clear();
  broken_ = false;
}

std::size_t RestartPolicy::recent_failures(Instant now) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(failures_, [now](Instant failure) { return now - failure <= kFailureWindow; }));
}

}  // namespace cardcage
