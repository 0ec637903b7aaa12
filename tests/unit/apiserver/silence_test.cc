#include "host/apiserver/silence.h"

#include <gtest/gtest.h>

namespace cardcage {
namespace {

using namespace std::chrono_literals;

const Instant kStart{1h};

TEST(SilenceTest, CountsOnlyWhileARequestWaits) {
  Silence silence;
  EXPECT_EQ(silence.length(kStart), 0s);
  silence.wait_began(kStart);
  EXPECT_EQ(silence.length(kStart + 3s), 3s);
  silence.wait_ended(kStart + 3s);
  EXPECT_EQ(silence.length(kStart + 600s), 3s);
}

TEST(SilenceTest, WaitsAddUp) {
  Silence silence;
  silence.wait_began(kStart);
  silence.wait_ended(kStart + 6s);
  silence.wait_began(kStart + 100s);
  EXPECT_EQ(silence.length(kStart + 104s), 10s);
}

TEST(SilenceTest, EndsWithTheFirstByte) {
  Silence silence;
  silence.wait_began(kStart);
  silence.wait_ended(kStart + 6s);
  silence.wait_began(kStart + 10s);
  silence.heard(kStart + 12s);
  EXPECT_EQ(silence.length(kStart + 13s), 1s);
  silence.wait_ended(kStart + 13s);
  silence.heard(kStart + 20s);
  EXPECT_EQ(silence.length(kStart + 30s), 0s);
}

TEST(SilenceTest, ASecondRequestDoesNotMoveTheBegin) {
  Silence silence;
  silence.wait_began(kStart);
  silence.wait_began(kStart + 5s);
  EXPECT_EQ(silence.length(kStart + 6s), 6s);
}

}  // namespace
}  // namespace cardcage
