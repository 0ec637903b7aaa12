#include "host/supervision/restart_policy.h"

#include <gtest/gtest.h>

namespace cardcage {
namespace {

using namespace std::chrono_literals;

class RestartPolicyTest : public ::testing::Test {
 protected:
  void fail_times(int times) {
    for (int i = 0; i < times; ++i) policy.failed(now, 1s);
  }
  const Instant now{1h};
  RestartPolicy policy;
};

TEST_F(RestartPolicyTest, TheFirstTryNeedsNoPause) { EXPECT_LT(policy.next_try(), now); }

TEST_F(RestartPolicyTest, PausesGrowUpToFiveMinutes) {
  for (const Duration pause : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 128s, 256s}) {
    policy.failed(now, 1s);
    EXPECT_EQ(policy.pause(), pause);
  }
  policy.begin_pause(now);
  EXPECT_EQ(policy.next_try(), now + 256s);
}

TEST_F(RestartPolicyTest, TenFailuresWithinHalfAnHourBreakTheModule) {
  fail_times(9);
  EXPECT_FALSE(policy.is_broken());
  fail_times(1);
  EXPECT_TRUE(policy.is_broken());
  EXPECT_EQ(policy.pause(), 30min);
  EXPECT_EQ(policy.recent_failures(now), 10u);
  EXPECT_EQ(policy.recent_failures(now + 31min), 0u);
}

TEST_F(RestartPolicyTest, ABrokenModuleKeepsItsPauseUntilItIsForgiven) {
  fail_times(10);
  policy.begin_pause(now);
  policy.skip_pause();
  EXPECT_EQ(policy.next_try(), now + 30min);
  policy.forgive();
  EXPECT_FALSE(policy.is_broken());
  EXPECT_LT(policy.next_try(), now);
  policy.failed(now, 1s);
  EXPECT_EQ(policy.pause(), 1s);
}

TEST_F(RestartPolicyTest, AnInstanceThatRanLongBeginsAnew) {
  fail_times(3);
  policy.failed(now, 11min);
  EXPECT_EQ(policy.pause(), 1s);
}

}  // namespace
}  // namespace cardcage
