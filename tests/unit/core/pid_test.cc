#include "host/core/pid.h"

#include <gtest/gtest.h>

namespace cardcage {
namespace {

TEST(PidTest, OnlyNumbersThatNameOneProcessOtherThanInit) {
  for (const std::int64_t number : {std::int64_t{2}, std::int64_t{4711}, std::int64_t{2147483647}})
    EXPECT_EQ(valid_pid(number), static_cast<pid_t>(number));
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{-4711}, std::int64_t{2147483648},
        std::int64_t{4294967295}, std::int64_t{4294968007}, std::numeric_limits<std::int64_t>::min()})
    EXPECT_EQ(valid_pid(number), std::nullopt) << number;
}

}  // namespace
}  // namespace cardcage
