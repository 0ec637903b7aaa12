#include "host/core/rate_limit.h"

#include <gtest/gtest.h>

namespace cardcage {
namespace {

using namespace std::chrono_literals;

TEST(RateLimitTest, ABurstIsFreeAndThenOneEventPerInterval) {
  RateLimit limit(3, 2s);
  const Instant start{1h};
  for (int i = 0; i < 3; ++i) {
    EXPECT_LE(limit.next(), start);
    limit.take(start);
  }
  EXPECT_EQ(limit.next(), start + 2s);
  limit.take(start + 2s);
  EXPECT_EQ(limit.next(), start + 4s);
}

TEST(RateLimitTest, ARestRefillsTheBurst) {
  RateLimit limit(3, 2s);
  const Instant start{1h};
  for (int i = 0; i < 3; ++i) limit.take(start);
  const Instant later = start + 6s;
  for (int i = 0; i < 3; ++i) {
    EXPECT_LE(limit.next(), later);
    limit.take(later);
  }
  EXPECT_GT(limit.next(), later);
}

TEST(RateLimitTest, ASpentBurstComesBackEventByEvent) {
  RateLimit limit(3, 2s);
  const Instant now{1h};
  limit.spend(now);
  EXPECT_EQ(limit.next(), now + 2s);
  limit.take(now + 2s);
  EXPECT_EQ(limit.next(), now + 4s);
}

}  // namespace
}  // namespace cardcage
