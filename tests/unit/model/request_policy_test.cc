// The policies that the API server refuses (k/k pkg/apis/resource/validation/validation_resourceslice_test.go).
#include "host/model/request_policy.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using testing::HasSubstr;

Quantity amount(std::string_view text) { return Quantity::parse(text).value(); }

std::string flaw(const RequestPolicy& policy, std::string_view capacity = "10Gi") {
  return flaw_of({{"memory", policy}}, {{"memory", amount(capacity)}}, true).value_or("none");
}

RequestPolicy values(std::string_view initial, const std::vector<std::string_view>& texts) {
  RequestPolicy policy{.default_amount = amount(initial)};
  for (const std::string_view text : texts) policy.values.push_back(amount(text));
  return policy;
}

std::optional<Quantity> optional(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(amount(text));
}
RequestPolicy range(std::string_view initial, std::string_view min, std::string_view max = "",
                    std::string_view step = "") {
  return {.default_amount = optional(initial), .min = optional(min), .max = optional(max), .step = optional(step)};
}

TEST(RequestPolicy, TakesWhatTheApiServerTakes) {
  EXPECT_EQ(flaw({.default_amount = amount("1Gi")}), "none");
  EXPECT_EQ(flaw(values("1Gi", {"1Gi", "2Gi", "10Gi"})), "none");
  EXPECT_EQ(flaw(range("1Gi", "1Gi")), "none");
  EXPECT_EQ(flaw(range("2Gi", "1Gi", "10Gi")), "none");
  EXPECT_EQ(flaw(range("2Gi", "1Gi", "9Gi", "1Gi")), "none");
  EXPECT_EQ(flaw(range("1Gi", "0", "10Gi", "512Mi")), "none");
  EXPECT_EQ(flaw(range("20Gi", "1Gi")), "none") << "without a maximum the default is not compared with the capacity";
  EXPECT_EQ(flaw(range("1", "0", "1e40"), "1e40"), "none") << "without a step whole amounts are only compared";
}

TEST(RequestPolicy, NeedsADefaultAndOneForm) {
  EXPECT_EQ(flaw({}), "request policy of capacity 'memory': there is no default");
  EXPECT_THAT(flaw({.default_amount = amount("1"), .max = amount("2")}), HasSubstr("a range needs validRange.min"));
  EXPECT_THAT(flaw({.default_amount = amount("1"), .step = amount("2")}), HasSubstr("a range needs validRange.min"));
  RequestPolicy both = values("1Gi", {"1Gi"});
  both.min = amount("1Gi");
  EXPECT_THAT(flaw(both), HasSubstr("both validValues and validRange: choose one"));
}

TEST(RequestPolicy, ValuesAscendFitAndIncludeTheDefault) {
  EXPECT_THAT(flaw(values("3Gi", {"1Gi", "2Gi"})), HasSubstr("default 3Gi is not one of validValues"));
  EXPECT_THAT(flaw(values("1Gi", {"1Gi", "11Gi"})), HasSubstr("validValues[1] 11Gi is more than the capacity of 10Gi"));
  EXPECT_THAT(flaw(values("1Gi", {"2Gi", "1Gi"})), HasSubstr("validValues[1] 1Gi follows 2Gi: list each value once"));
  EXPECT_THAT(flaw(values("1Gi", {"1Gi", "1024Mi"})), HasSubstr("validValues[1] 1Gi follows 1Gi"));
  EXPECT_THAT(flaw(values("1", {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"})),
              HasSubstr("validValues has 11 entries, at most 10 are allowed"));
  EXPECT_THAT(flaw(values("-1", {"-1", "2"})), HasSubstr("default -1 is negative"));
  EXPECT_THAT(flaw(values("2", {"-1", "2"})), HasSubstr("validValues -1 is negative"));
}

TEST(RequestPolicy, BoundsAreInOrder) {
  EXPECT_THAT(flaw(range("1Gi", "11Gi")), HasSubstr("validRange.min 11Gi is more than the capacity of 10Gi"));
  EXPECT_THAT(flaw(range("3Gi", "3Gi", "2Gi")), HasSubstr("validRange.min 3Gi is more than validRange.max 2Gi"));
  EXPECT_THAT(flaw(range("3Gi", "3Gi", "11Gi")), HasSubstr("validRange.max 11Gi is more than the capacity of 10Gi"));
  EXPECT_THAT(flaw(range("1Gi", "2Gi")), HasSubstr("validRange.min 2Gi is more than default 1Gi"));
  EXPECT_THAT(flaw(range("4Gi", "2Gi", "3Gi")), HasSubstr("default 4Gi is more than validRange.max 3Gi"));
}

TEST(RequestPolicy, StepsLeadFromTheMinimumToTheDefaultAndTheMaximum) {
  EXPECT_THAT(flaw(range("1", "0", "10", "0")), HasSubstr("validRange.step is 0"));
  EXPECT_THAT(flaw(range("4Gi", "1Gi", "9Gi", "2Gi")),
              HasSubstr("default 4Gi is not validRange.min 1Gi and a multiple of validRange.step 2Gi"));
  EXPECT_THAT(flaw(range("3Gi", "1Gi", "10Gi", "2Gi")), HasSubstr("validRange.max 10Gi is not validRange.min 1Gi"));
  EXPECT_THAT(flaw(range("2Gi", "2Gi", "", "9Gi")),
              HasSubstr("validRange.min 2Gi and one step of 9Gi are more than the capacity of 10Gi"));
  EXPECT_THAT(flaw(range("0", "0", "1e19", "1"), "1e19"),
              HasSubstr("validRange.max 10E is too large to count steps in 64 bits"));
  EXPECT_THAT(flaw(range("9e18", "9e18", "", "9e18"), "1e40"), HasSubstr("are more than the capacity"));
}

TEST(RequestPolicy, AmountsThatAreNotWholeAreCountedInThousandths) {
  EXPECT_EQ(flaw(range("500m", "100m", "900m", "100m"), "1"), "none");
  EXPECT_EQ(flaw(range("1500m", "0", "2", "500m"), "2"), "none");
  EXPECT_THAT(flaw(range("1500m", "1", "3", "1"), "3"), HasSubstr("default 1500m is not validRange.min 1"))
      << "even if only the default is not whole";
  EXPECT_THAT(flaw(range("1", "100u", "2"), "2"),
              HasSubstr("validRange.min 100u is not a multiple of 1m that fits in 64 bits"));
  EXPECT_THAT(flaw(range("1", "500m", "1e17"), "1e17"), HasSubstr("validRange.max 100P is not a multiple of 1m"));
}

TEST(RequestPolicy, BelongsToACapacityOfASharedDevice) {
  const RequestPolicies policies{{"memory", {.default_amount = amount("1")}}};
  EXPECT_EQ(flaw_of(policies, {{"memory", amount("2")}}, false),
            "capacity 'memory' has a request policy, but the device is not shared");
  EXPECT_EQ(flaw_of(policies, {{"cores", amount("2")}}, true),
            "there is a request policy for capacity 'memory', which the device lacks");
  EXPECT_EQ(flaw_of({}, {{"cores", amount("2")}}, false), std::nullopt);
}

TEST(RequestPolicy, NeedsFractionsIfRoundedAmountsWouldNotFit) {
  EXPECT_FALSE(needs_fractions(values("1", {"1", "2"})));
  EXPECT_FALSE(needs_fractions(values("500m", {"500m", "2"})));
  EXPECT_TRUE(needs_fractions(values("500m", {"500m", "1", "2"})));
  EXPECT_FALSE(needs_fractions(range("500m", "100m")));
  EXPECT_FALSE(needs_fractions(range("2Gi", "1Gi", "8Gi", "1Gi")));
  EXPECT_FALSE(needs_fractions(range("1500m", "500m", "", "500m"))) << "2 is 1 and a step of 1";
  EXPECT_TRUE(needs_fractions(range("5", "0", "", "2500m"))) << "5 is not a multiple of 3";
  EXPECT_TRUE(needs_fractions(range("1500m", "1500m", "3", "1500m"))) << "3 is not 2 and a multiple of 2";
}

}  // namespace
}  // namespace cardcage
