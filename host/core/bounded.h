// Numbers from sockets and files, bounded before anything is computed with them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace cardcage {

// A duration of `count` units, or the nearer bound. Bounded in its own unit: the conversion to nanoseconds of a large
// count overflows.
template <class Unit>
constexpr Unit bounded(std::int64_t count, Unit least, Unit most) {
  return Unit(std::clamp<std::int64_t>(count, least.count(), most.count()));
}

// A pause or a limit, at most a day.
constexpr std::chrono::milliseconds bounded_milliseconds(std::int64_t count) {
  constexpr std::chrono::milliseconds kLeast{0}, kMost{86'400'000};
  return bounded(count, kLeast, kMost);
}

// A time of day in milliseconds since 1970, at most until the year 2200.
constexpr std::chrono::system_clock::time_point bounded_wall_time(std::int64_t milliseconds) {
  constexpr std::chrono::milliseconds kEarliest{0}, kLatest{7'258'118'400'000};
  return std::chrono::system_clock::time_point(bounded(milliseconds, kEarliest, kLatest));
}

}  // namespace cardcage
