#include "host/instance/line_budget.h"

#include <gtest/gtest.h>

namespace cardcage {
namespace {

TEST(LineBudgetTest, AFloodIsCutAndNothingElse) {
  LineBudget budget;
  int granted = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) granted += budget.take().has_value() ? 1 : 0;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_GE(granted, 100);
  EXPECT_LE(granted, 100 * (seconds + 1));
}

}  // namespace
}  // namespace cardcage
