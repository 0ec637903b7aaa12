#include "host/core/duration.h"

#include <gtest/gtest.h>

#include <limits>

namespace cardcage {
namespace {

using namespace std::chrono_literals;

TEST(DurationTest, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parse_duration("250ms"), std::chrono::nanoseconds(250ms));
  EXPECT_EQ(parse_duration("30s"), std::chrono::nanoseconds(30s));
  EXPECT_EQ(parse_duration("5m"), std::chrono::nanoseconds(5min));
  EXPECT_EQ(parse_duration("1h"), std::chrono::nanoseconds(1h));
  EXPECT_EQ(parse_duration("1h30m"), std::chrono::nanoseconds(90min));
  EXPECT_EQ(parse_duration("0s"), std::chrono::nanoseconds(0));
  EXPECT_EQ(parse_duration("2us1ns"), std::chrono::nanoseconds(2001));
}

TEST(DurationTest, RefusesEverythingElseAndSaysWhy) {
  const auto why = [](std::string_view text) {
    const auto parsed = parse_duration(text);
    return parsed ? "accepted" : parsed.error().message;
  };
  EXPECT_EQ(why(""), "'' is not a duration: write a number with a unit, like \"30s\"");
  EXPECT_EQ(why("30"), "'30' is not a duration: the unit is missing; one of h, m, s, ms, us, ns");
  EXPECT_EQ(why("30sec"), "'30sec' is not a duration: unknown unit 'sec'; one of h, m, s, ms, us, ns");
  EXPECT_EQ(why("30 s"), "'30 s' is not a duration: unknown unit ' s'; one of h, m, s, ms, us, ns");
  EXPECT_EQ(why("1.5s"), "'1.5s' is not a duration: unknown unit '.'; one of h, m, s, ms, us, ns");
  EXPECT_EQ(why("-1s"), "'-1s' is not a duration: write a whole number with a unit, like \"30s\"");
  EXPECT_EQ(why("s"), "'s' is not a duration: write a whole number with a unit, like \"30s\"");
  EXPECT_EQ(why("1m1m"), "'1m1m' is not a duration: write larger units first, like \"1h30m\"");
  EXPECT_EQ(why("1s1h"), "'1s1h' is not a duration: write larger units first, like \"1h30m\"");
  EXPECT_EQ(why("9223372036s854775807ns"), "accepted");
  EXPECT_EQ(why("9223372036s854775808ns"), "'9223372036s854775808ns' is not a duration: it is too long");
  EXPECT_EQ(why("99999999999999999999s"), "'99999999999999999999s' is not a duration: it is too long");
  EXPECT_EQ(why("99999999h"), "'99999999h' is not a duration: it is too long");
}

TEST(DurationTest, WritesWhatItReads) {
  for (const std::string_view text : {"0s", "250ms", "1h30m", "1s1ns", "59m59s999ms", "2562047h47m16s854ms775us807ns"})
    EXPECT_EQ(format_duration(parse_duration(text).value()), text);
  EXPECT_EQ(format_duration(-90s), "-1m30s");
  EXPECT_EQ(format_duration(std::chrono::nanoseconds(std::numeric_limits<std::int64_t>::min())),
            "-2562047h47m16s854ms775us808ns");
}

}  // namespace
}  // namespace cardcage
