#include "host/core/backoff.h"

#include <gtest/gtest.h>

namespace cardcage {
namespace {

using std::chrono::seconds;

TEST(Backoff, DoublesUpToItsLimitAndStartsAgain) {
  Backoff backoff(seconds(1), seconds(5), 1);
  for (const int longest : {1, 2, 4, 5, 5}) {
    const Duration pause = backoff.next();
    EXPECT_GE(pause * 2, seconds(longest));
    EXPECT_LE(pause, seconds(longest));
  }
  backoff.reset();
  EXPECT_LE(backoff.next(), seconds(1));
}

TEST(Backoff, DiffersBetweenNodes) {
  EXPECT_NE(Backoff(seconds(1), seconds(5), 1).next(), Backoff(seconds(1), seconds(5), 2).next());
}

}  // namespace
}  // namespace cardcage
