#include "host/core/bounded.h"

#include <gtest/gtest.h>

#include <limits>

namespace cardcage {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

TEST(BoundedTest, ADurationIsBoundedBeforeItIsConverted) {
  EXPECT_EQ(bounded(7, 1s, 10s), 7s);
  EXPECT_EQ(std::chrono::nanoseconds(bounded(kMost, 1s, 10s)), 10s);
  EXPECT_EQ(std::chrono::nanoseconds(bounded(kLeast, 1s, 10s)), 1s);
}

TEST(BoundedTest, ATimeOfDayIsBetween1970And2200) {
  using Time = std::chrono::system_clock::time_point;
  EXPECT_EQ(bounded_wall_time(1'800'000'000'001), Time(1'800'000'000'001ms));
  EXPECT_EQ(bounded_wall_time(kLeast), Time());
  const std::chrono::year_month_day latest(std::chrono::floor<std::chrono::days>(bounded_wall_time(kMost)));
  EXPECT_EQ(static_cast<int>(latest.year()), 2200);
}

}  // namespace
}  // namespace cardcage
