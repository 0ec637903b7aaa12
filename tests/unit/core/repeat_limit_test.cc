#include "host/core/repeat_limit.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

const Instant kStart{std::chrono::hours(1)};

TEST(RepeatLimitTest, LeavesOutMessagesOfOneKeyAndCountsThem) {
  RepeatLimit limit;
  EXPECT_EQ(limit.admit("peer", "refused", kStart), 0u);
  EXPECT_EQ(limit.admit("peer", "refused", kStart + 1s), std::nullopt);
  EXPECT_EQ(limit.admit("peer", "refused", kStart + 9s), std::nullopt);
  EXPECT_EQ(limit.admit("other", "refused", kStart + 9s), 0u);
  EXPECT_EQ(limit.admit("peer", "refused", kStart + 10s), 2u);
}

TEST(RepeatLimitTest, DifferentTextsAreNotLostToTheFirst) {
  RepeatLimit limit;
  EXPECT_EQ(limit.admit("device", "gpu-0 is left out", kStart), 0u);
  EXPECT_EQ(limit.admit("device", "gpu-1 is left out", kStart), 0u);
  EXPECT_EQ(limit.admit("device", "gpu-0 is left out", kStart + 1s), std::nullopt);
}

TEST(RepeatLimitTest, AFloodOfDifferentTextsIsLimited) {
  RepeatLimit limit;
  int lines = 0;
  for (int i = 0; i < 2000; ++i)
    if (limit.admit("flood", std::to_string(i), kStart + i * 10ms)) ++lines;
  EXPECT_EQ(lines, 16) << "8 in 10 s";
}

TEST(RepeatLimitTest, TheSameWordsComeLessAndLessOften) {
  RepeatLimit limit;
  std::vector<long> lines;
  for (Duration passed{}; passed < 1h; passed += 5s)
    if (limit.admit("api", "unreachable", kStart + passed))
      lines.push_back(std::chrono::duration_cast<std::chrono::seconds>(passed).count());
  EXPECT_THAT(lines, ElementsAre(0, 10, 30, 70, 150, 310, 630, 1230, 1830, 2430, 3030));
  EXPECT_TRUE(limit.admit("api", "forbidden", kStart + 2h));
  EXPECT_TRUE(limit.admit("api", "unreachable", kStart + 2h + 10s)) << "another text has its own pauses";
  EXPECT_TRUE(limit.admit("api", "unreachable", kStart + 2h + 20s)) << "and start over";
}

TEST(RepeatLimitTest, ManyKeysAtOnceTakeLittleTime) {
  RepeatLimit limit;
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 30'000; ++i) EXPECT_TRUE(limit.admit(std::to_string(i), "device is unhealthy", kStart));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 2s) << "a look at all keys for each message takes 10 s and more";
}

TEST(RepeatLimitTest, WordsThatWereNotHeardForAWhileAreNews) {
  RepeatLimit limit;
  for (Duration passed{}; passed < 1h; passed += 5s) limit.admit("api", "unreachable", kStart + passed);
  EXPECT_TRUE(limit.admit("api", "unreachable", kStart + 3h));
  EXPECT_TRUE(limit.admit("api", "unreachable", kStart + 3h + 10s));
}

}  // namespace
}  // namespace cardcage
