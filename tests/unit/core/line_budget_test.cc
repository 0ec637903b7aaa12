#include "host/core/line_budget.h"

#include <gmock/gmock.h>

#include <vector>

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

class LineBudgetTest : public ::testing::Test {
 protected:
  // Writes `count` lines; returns the number of accepted ones.
  int lines(int count, Instant when) {
    int written = 0;
    for (int i = 0; i < count; ++i) {
      const LineBudget::Verdict verdict = budget.take(when);
      written += verdict.write ? 1 : 0;
      if (verdict.left_out > 0) told.push_back(verdict.left_out);
    }
    return written;
  }
  const Instant start{1h};
  LineBudget budget;
  std::vector<std::uint64_t> told;
};

TEST_F(LineBudgetTest, AFloodIsCutAndTheNextSecondSaysByHowMuch) {
  EXPECT_EQ(lines(107, start), 100);
  told.clear();
  EXPECT_EQ(lines(2, start + 1s), 2);
  EXPECT_THAT(told, ElementsAre(7));
}

TEST_F(LineBudgetTest, AFloodIsToldOfWhileItLasts) {
  EXPECT_EQ(lines(1'000'000, start + 999ms), 100);
  EXPECT_THAT(told, ElementsAre(1, 10, 100, 1'000, 10'000, 100'000));
}

}  // namespace
}  // namespace cardcage
