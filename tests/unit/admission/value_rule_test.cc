#include "host/admission/value_rule.h"

#include <gtest/gtest.h>

namespace cardcage {
namespace {

struct RuleCase {
  std::string name;
  OptionDeclaration declaration;
  std::string valid, expected;
};
void PrintTo(const RuleCase& about, std::ostream* out) { *out << about.name; }

class ValueRuleTest : public ::testing::TestWithParam<RuleCase> {};

TEST_P(ValueRuleTest, JudgesAsDeclared) {
  const ValueRule rule = value_rule(GetParam().declaration);
  EXPECT_EQ(rule.valid, GetParam().valid);
  EXPECT_EQ(rule.expected, GetParam().expected);
}

constexpr std::int64_t kSecond = 1'000'000'000;
const std::string kDuration =
    "type(v) == string && v != '' && v.matches('^([0-9]{1,6}h)?([0-9]{1,7}m)?([0-9]{1,9}s)?([0-9]{1,12}ms)?"
    "([0-9]{1,15}us)?([0-9]{1,18}ns)?$')";
const std::string kEntries =
    " && v.all(k, k != '' && bytes(k).size() <= 253 && !k.matches('[\\\\x00-\\\\x1f\\\\x7f]') && type(v[k]) == string "
    "&& !v[k].contains('\\u0000'))";

const RuleCase kCases[] = {
    {"String", {.type = OptionType::kString}, "type(v) == string && !v.contains('\\u0000')", "a string"},
    {"StringWithLength",
     {.type = OptionType::kString, .min = 1, .max = 8},
     "type(v) == string && !v.contains('\\u0000') && bytes(v).size() >= 1 && bytes(v).size() <= 8",
     "a string of 1 to 8 bytes"},
    {"StringWithChoices",
     {.type = OptionType::kString, .choices = {"a", "b"}},
     "type(v) == string && v in ['a', 'b']",
     "one of 'a', 'b'"},
    {"Integer", {.type = OptionType::kInteger}, "type(v) == int", "an integer"},
    {"IntegerInRange",
     {.type = OptionType::kInteger, .min = -5, .max = 5},
     "type(v) == int && v >= -5 && v <= 5",
     "an integer from -5 to 5"},
    {"Boolean", {.type = OptionType::kBoolean}, "type(v) == bool", "true or false"},
    {"Duration", {.type = OptionType::kDuration}, kDuration, "a duration such as \"30s\""},
    {"DurationInRange",
     {.type = OptionType::kDuration, .min = kSecond, .max = 90 * kSecond},
     kDuration + " && duration(v) >= duration('1s') && duration(v) <= duration('1m30s')",
     "a duration from 1s to 1m30s"},
    {"List",
     {.type = OptionType::kList},
     "type(v) == list && v.all(s, type(s) == string && !s.contains('\\u0000'))",
     "a list of strings"},
    {"ListWithLength",
     {.type = OptionType::kList, .max = 4},
     "type(v) == list && v.size() <= 4 && v.all(s, type(s) == string && !s.contains('\\u0000'))",
     "a list of at most 4 strings"},
    {"ListWithObjects",
     {.type = OptionType::kList, .objects = true, .max = 4},
     "type(v) == list && v.size() <= 4 && v.all(s, (type(s) == string && !s.contains('\\u0000')) || (type(s) == map && "
     "s.all(k, k != '' && !k.matches('[\\\\x00-\\\\x1f\\\\x7f=]') && (type(s[k]) == int || type(s[k]) == bool || "
     "(type(s[k]) == string && !s[k].matches('[\\\\x00-\\\\x1f\\\\x7f]'))))))",
     "a list of at most 4 strings and objects"},
    {"ListWithChoices",
     {.type = OptionType::kList, .choices = {"a", "b"}, .min = 1, .max = 2},
     "type(v) == list && v.size() >= 1 && v.size() <= 2 && v.all(s, type(s) == string && s in ['a', 'b'])",
     "a list of 1 to 2 strings, each one of 'a', 'b'"},
    {"Map",
     {.type = OptionType::kMap},
     "type(v) == map && v.size() <= 128" + kEntries,
     "an object with strings as values"},
    {"MapWithLength",
     {.type = OptionType::kMap, .min = 1, .max = 2},
     "type(v) == map && v.size() <= 128 && v.size() >= 1 && v.size() <= 2" + kEntries,
     "an object with 1 to 2 strings as values"},
};
INSTANTIATE_TEST_SUITE_P(Types, ValueRuleTest, ::testing::ValuesIn(kCases),
                         [](const auto& about) { return about.param.name; });

}  // namespace
}  // namespace cardcage
