#include "fleet/natural_order.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cardcage {
namespace {

TEST(NaturalOrderTest, NumbersCountAsNumbers) {
  std::vector<std::string> names = {
      "node-10", "node-9", "node",   "node-9-b", "node-09", "node-100000000000000000000000",
      "a2b3",    "a2b10",  "node-1", "",         "0",       "00"};
  std::ranges::sort(names, natural_less);
  EXPECT_THAT(names, ::testing::ElementsAre("", "0", "00", "a2b3", "a2b10", "node", "node-1", "node-09", "node-9",
                                            "node-9-b", "node-10", "node-100000000000000000000000"));
}

TEST(NaturalOrderTest, OnlyEqualNamesAreEqual) {
  const std::vector<std::string> names = {"", "0", "00", "a", "a0", "a00", "a0b", "a00b", "a1", "a01", "b"};
  for (const auto& a : names)
    for (const auto& b : names) EXPECT_EQ(natural_less(a, b) || natural_less(b, a), a != b) << a << " and " << b;
}

}  // namespace
}  // namespace cardcage
