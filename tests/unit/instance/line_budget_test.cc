#include "host/instance/line_budget.h"

#include <gtest/gtest.h>

namespace cardcage {
namespace {

TEST(LineBudgetTest, AFloodIsCutAndTheNextSecondSaysByHowMuch) {
  LineBudget budget;
  const Instant start{std::chrono::hours(1)};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(budget.take(start), 0u);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(budget.take(start + std::chrono::milliseconds(999)), std::nullopt);
  EXPECT_EQ(budget.take(start + std::chrono::seconds(1)), 7u);
  EXPECT_EQ(budget.take(start + std::chrono::seconds(1)), 0u);
}

}  // namespace
}  // namespace cardcage
