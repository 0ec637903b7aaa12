#include "host/model/quantity.h"

#include <gmock/gmock.h>

#include <limits>

namespace cardcage {
namespace {

std::string canonical(std::string_view text) {
  const auto quantity = Quantity::parse(text);
  return quantity ? quantity->to_string() : "error: " + quantity.error().message;
}

TEST(Quantity, IsPrintedAsKubernetesDoes) {
  EXPECT_EQ(canonical("1024Mi"), "1Gi");
  EXPECT_EQ(canonical("32Gi"), "32Gi");
  EXPECT_EQ(canonical("1.5Gi"), "1536Mi");
  EXPECT_EQ(canonical("0.5Ki"), "512");
  EXPECT_EQ(canonical("0.1Ki"), "102400m");
  EXPECT_EQ(canonical("1000Ki"), "1000Ki");
  EXPECT_EQ(canonical("1500m"), "1500m");
  EXPECT_EQ(canonical("1.5"), "1500m");
  EXPECT_EQ(canonical("2000"), "2k");
  EXPECT_EQ(canonical("1e3"), "1k");
  EXPECT_EQ(canonical("1E-3"), "1m");
  EXPECT_EQ(canonical("1e+6"), "1M");
  EXPECT_EQ(canonical("12E"), "12E");
  EXPECT_EQ(canonical("100"), "100");
  EXPECT_EQ(canonical("1010"), "1010");
  EXPECT_EQ(canonical("-1.5Gi"), "-1536Mi");
  EXPECT_EQ(canonical("+5"), "5");
  for (const char* zero : {"0", "-0", "0Gi", "0.000", "0e9", "00", ".0"}) EXPECT_EQ(canonical(zero), "0") << zero;
}

TEST(Quantity, AcceptsNumbersWithoutDigitsOnOneSideOfThePoint) {
  EXPECT_EQ(canonical("1."), "1");
  EXPECT_EQ(canonical(".5"), "500m");
  EXPECT_EQ(canonical("1.Ki"), "1Ki");
}

TEST(Quantity, IsRoundedAwayFromZeroBelowOneNano) {
  EXPECT_EQ(canonical("0.1n"), "1n");
  EXPECT_EQ(canonical("-0.1n"), "-1n");
  EXPECT_EQ(canonical("1.0000000001"), "1000000001n");
  EXPECT_EQ(canonical("1e-100"), "1n");
  EXPECT_EQ(canonical("0.99999999999999999999999999"), "1");
  EXPECT_EQ((Quantity{.value = 15, .exp10 = -10}).to_string(), "2n");
  EXPECT_EQ((Quantity{.value = -1, .exp10 = std::numeric_limits<std::int32_t>::min()}).to_string(), "-1n");
}

TEST(Quantity, KeepsTheLimitsOf64Bits) {
  EXPECT_EQ(canonical("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(canonical("-9223372036854775807"), "-9223372036854775807");
  EXPECT_EQ(canonical("7Ei"), "7Ei");
  EXPECT_EQ(Quantity::parse("9223372036854775808").error().code, Code::kOutOfRange);
  EXPECT_EQ(Quantity::parse("16Ei").error().code, Code::kOutOfRange);
  EXPECT_EQ(Quantity::parse("123456789012345678901234567890").error().code, Code::kOutOfRange);
  EXPECT_EQ(Quantity::parse("0.00000000000000000001Ei")->to_string(), "11529216n");
  EXPECT_EQ((Quantity{.value = std::numeric_limits<std::int64_t>::min()}).to_string(), "-9223372036854775808");
  EXPECT_EQ(
      (Quantity{.value = std::numeric_limits<std::int64_t>::min(), .format = Quantity::Format::kBinary}).to_string(),
      "-8Ei");
}

TEST(Quantity, BeyondExaIsPrintedWithAnExponent) {
  EXPECT_EQ(canonical("1000E"), "1e21");
  EXPECT_EQ(canonical("1e100"), "10e99");
  EXPECT_EQ(Quantity::parse(canonical("1e100")), Quantity::parse("1e100"));
  EXPECT_EQ((Quantity{.value = 7, .exp10 = std::numeric_limits<std::int32_t>::max()}).to_string(), "70e2147483646");
  EXPECT_EQ((Quantity{.value = 7, .exp10 = 40, .format = Quantity::Format::kBinary}).to_string(), "70e39");
}

TEST(Quantity, RefusesWhatKubernetesRefuses) {
  const std::string_view bad[] = {"",
                                  "+",
                                  "-",
                                  ".",
                                  "Gi",
                                  "1 Gi",
                                  " 1",
                                  "1 ",
                                  "1gi",
                                  "1KI",
                                  "1K",
                                  "1ki",
                                  "1i",
                                  "--1",
                                  "1..2",
                                  "1.2.3",
                                  "1e",
                                  "1e+",
                                  "1e+-3",
                                  "1e1.5",
                                  "1e101",
                                  "1e-101",
                                  "1e99999999999",
                                  "0x10",
                                  "1Zi",
                                  "NaN",
                                  "inf",
                                  "1_000",
                                  std::string_view("1\0", 2),
                                  "\xc2\xb5"};
  for (std::string_view text : bad) {
    const auto quantity = Quantity::parse(text);
    ASSERT_FALSE(quantity) << text;
    EXPECT_EQ(quantity.error().code, Code::kInvalidArgument) << text;
  }
  EXPECT_FALSE(Quantity::parse(std::string(1000, '1')));
  EXPECT_LT(Quantity::parse(std::string(100'000, '0')).error().message.size(), 300u);
}

TEST(Quantity, IsEqualByAmountWhateverItsForm) {
  EXPECT_EQ(Quantity::parse("1024Mi"), Quantity::parse("1Gi"));
  EXPECT_EQ(Quantity::parse("1000"), Quantity::parse("1k"));
  EXPECT_EQ(Quantity::parse("1024"), Quantity::parse("1Ki"));
  EXPECT_EQ(Quantity::parse("0.5"), Quantity::parse("500m"));
  EXPECT_EQ((Quantity{.value = 0, .exp10 = 7}), (Quantity{.value = 0, .exp10 = -7}));
  EXPECT_NE(Quantity::parse("1Ki"), Quantity::parse("1k"));
  EXPECT_NE((Quantity{.value = 1, .exp10 = 30}), (Quantity{.value = 1, .exp10 = 31}));
}

TEST(Quantity, IsOrderedByAmount) {
  const Quantity ascending[] = {{-1, 31},
                                {-1, 30},
                                {-5, 0},
                                {-1, -9},
                                {0, 7},
                                {1, -9},
                                {500, -3},
                                {1, 0},
                                {1 << 10, 0},
                                {std::numeric_limits<std::int64_t>::max(), 0},
                                {1, 19},
                                {1, 40},
                                {std::numeric_limits<std::int64_t>::max(), 100}};
  for (std::size_t i = 0; i < std::size(ascending); ++i)
    for (std::size_t j = 0; j < std::size(ascending); ++j)
      EXPECT_EQ(ascending[i] <=> ascending[j], i <=> j) << ascending[i].to_string() << " " << ascending[j].to_string();
}

TEST(Quantity, IsCountedInUnits) {
  EXPECT_EQ((Quantity{32LL << 30, 0}).in_units(0), 32LL << 30);
  EXPECT_EQ((Quantity{2, 3}).in_units(-3), 2'000'000);
  EXPECT_EQ((Quantity{1500, -3}).in_units(-3), 1500);
  EXPECT_EQ((Quantity{1500, -3}).in_units(0), std::nullopt);
  EXPECT_EQ((Quantity{0, 40}).in_units(-3), 0);
  EXPECT_EQ((Quantity{1, 18}).in_units(0), 1'000'000'000'000'000'000);
  EXPECT_EQ((Quantity{1, 19}).in_units(0), std::nullopt);
  EXPECT_EQ((Quantity{1, 100}).in_units(0), std::nullopt);
}

TEST(Quantity, IsRoundedUpToAWholeAmount) {
  EXPECT_FALSE((Quantity{1500, -3}).is_whole());
  EXPECT_TRUE((Quantity{1000, -3}).is_whole());
  EXPECT_EQ((Quantity{1500, -3}).rounded_up(), (Quantity{2, 0}));
  EXPECT_EQ((Quantity{1, -9}).rounded_up(), (Quantity{1, 0}));
  EXPECT_EQ((Quantity{7, 3}).rounded_up(), (Quantity{7000, 0}));
}

TEST(Quantity, SurvivesARoundTrip) {
  for (std::int64_t value : {1L, 7L, 1000L, 1024L, 1536L, 123456789L, -5L, std::numeric_limits<std::int64_t>::max()})
    for (std::int32_t exponent : {-9, -4, -1, 0, 1, 3, 5})
      for (auto format : {Quantity::Format::kDecimal, Quantity::Format::kBinary}) {
        const Quantity quantity{value, exponent, format};
        EXPECT_EQ(Quantity::parse(quantity.to_string()), quantity) << quantity.to_string();
      }
}

}  // namespace
}  // namespace cardcage
