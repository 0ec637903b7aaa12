#include "host/config/options.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Values = std::vector<std::string>;

OptionDeclaration declare(const std::string& name, OptionType type) {
  OptionDeclaration declaration;
  declaration.name = name;
  declaration.type = type;
  declaration.help = "help of " + name;
  return declaration;
}

std::vector<OptionDeclaration> declarations() {
  auto mig = declare("mig", OptionType::kString);
  mig.choices = {"none", "single", "mixed"};
  mig.default_text = "none";
  auto replicas = declare("replicas", OptionType::kInteger);
  replicas.min = 1;
  replicas.max = 8;
  replicas.default_text = "1";
  auto interval = declare("interval", OptionType::kDuration);
  interval.min = 1'000'000'000;
  interval.max = 3'600'000'000'000;
  interval.default_text = "1m30s";
  auto ignore = declare("ignore", OptionType::kList);
  ignore.max = 2;
  ignore.default_text = "[\"a\", \"b\"]";
  auto token = declare("token", OptionType::kString);
  token.secret = true;
  token.choices = {"one", "two"};
  token.default_text = "one";
  return {mig, replicas, interval, ignore, token, declare("strict", OptionType::kBoolean)};
}

std::expected<OptionValues, ConfigErrors> check(const std::map<std::string, OptionValue>& written,
                                                const std::vector<OptionDeclaration>& declared = declarations()) {
  ModuleConfig config;
  config.name = "gpu";
  config.position = {"t.toml", 3, 1};
  std::uint32_t line = 10;
  for (const auto& [name, value] : written) config.options[name] = {value, {"t.toml", line++, 8}};
  return check_options(config, declared);
}
Values errors(const std::map<std::string, OptionValue>& written,
              const std::vector<OptionDeclaration>& declared = declarations()) {
  const auto checked = check(written, declared);
  Values lines;
  if (!checked)
    for (const auto& entry : checked.error().entries)
      lines.push_back(entry.position.to_string() + ": " + entry.message);
  return lines;
}

TEST(OptionsTest, FillsDefaultsOfEveryType) {
  const auto values = check({});
  ASSERT_TRUE(values);
  const auto value = [&](const char* name) { return values->entries.find(name)->second.value; };
  EXPECT_EQ(value("mig"), OptionValue("none"));
  EXPECT_EQ(value("replicas"), OptionValue(std::int64_t{1}));
  EXPECT_EQ(value("interval"), OptionValue(std::int64_t{90'000'000'000}));
  EXPECT_EQ(value("ignore"), OptionValue(Values{"a", "b"}));
  EXPECT_EQ(value("strict"), OptionValue(false));
  EXPECT_FALSE(values->entries.find("mig")->second.given);
}

TEST(OptionsTest, TakesWrittenValues) {
  const auto values = check({{"mig", "mixed"}, {"interval", "5m"}, {"strict", true}, {"ignore", Values{}}});
  ASSERT_TRUE(values);
  EXPECT_EQ(values->entries.find("interval")->second,
            (OptionValues::Entry{OptionValue(std::int64_t{300'000'000'000}), true}));
  EXPECT_EQ(values->entries.find("ignore")->second, (OptionValues::Entry{OptionValue(Values{}), true}));
}

TEST(OptionsTest, ReportsAllErrorsAtOnceInOrderOfTheirPositions) {
  EXPECT_THAT(errors({{"intervall", "5m"}, {"mig", "mixd"}, {"replicas", std::int64_t{9}}}),
              ElementsAre("t.toml:10:8: module 'gpu' has no option 'intervall' (did you mean 'interval'?)",
                          "t.toml:11:8: option 'mig' of module 'gpu' is 'mixd', expected one of 'none', 'single', "
                          "'mixed' (did you mean 'mixed'?)",
                          "t.toml:12:8: option 'replicas' of module 'gpu' is 9, expected 1 to 8"));
}

TEST(OptionsTest, NamesTheTypeThatIsExpected) {
  EXPECT_THAT(errors({{"interval", std::int64_t{5}}, {"mig", true}, {"replicas", "two"}, {"strict", Values{"x"}}}),
              ElementsAre("t.toml:10:8: option 'interval' of module 'gpu' is an integer, expected a duration such as "
                          "\"30s\"",
                          "t.toml:11:8: option 'mig' of module 'gpu' is a boolean, expected a string",
                          "t.toml:12:8: option 'replicas' of module 'gpu' is a string, expected an integer",
                          "t.toml:13:8: option 'strict' of module 'gpu' is a list of strings, expected true or false"));
}

TEST(OptionsTest, ChecksRangesOfDurationsAndLists) {
  EXPECT_THAT(errors({{"ignore", Values{"a", "b", "c"}}, {"interval", "2h"}}),
              ElementsAre("t.toml:10:8: option 'ignore' of module 'gpu' has 3 entries, expected 0 to 2",
                          "t.toml:11:8: option 'interval' of module 'gpu' is 2h, expected 1s to 1h"));
  EXPECT_THAT(errors({{"interval", "5 minutes"}}),
              ElementsAre(HasSubstr("t.toml:10:8: option 'interval' of module 'gpu' is not valid: ")));
}

TEST(OptionsTest, NeverRepeatsASecret) {
  const auto lines = errors({{"token", "hunter2"}});
  EXPECT_THAT(lines, ElementsAre(HasSubstr("is a secret value, expected one of 'one', 'two'")));
  EXPECT_THAT(lines, ElementsAre(Not(HasSubstr("hunter2"))));
}

TEST(OptionsTest, ReportsAMissingRequiredOptionAtItsModule) {
  auto address = declare("address", OptionType::kString);
  address.required = true;
  EXPECT_THAT(errors({}, {address}), ElementsAre("t.toml:3:1: module 'gpu' needs option 'address' (help of address)"));
  EXPECT_TRUE(check({{"address", "10.0.0.1"}}, {address}));
}

TEST(OptionsTest, RefusesTextThatAModuleCouldNotRead) {
  const std::vector<OptionDeclaration> text = {declare("text", OptionType::kString)};
  EXPECT_THAT(errors({{"text", std::string("a\0b", 3)}}, text),
              ElementsAre(HasSubstr("is not UTF-8 text without NUL")));
  EXPECT_THAT(errors({{"text", "\xff"}}, text), ElementsAre(HasSubstr("is not UTF-8 text without NUL")));
}

class ParamsTest : public ::testing::Test {
 protected:
  ParamsTest() {
    identity.params = declarations();
    identity.params_api_version = "gpu.example.com/v1";
    identity.params_kind = "GpuConfig";
  }
  std::string refusal(const std::string& members) { return whole("{" + kType + members + "}"); }
  std::string whole(const std::string& json) {
    const auto decoded = decode_params(identity, json);
    return decoded ? "was taken" : decoded.error().message;
  }
  const std::string kType = R"("apiVersion":"gpu.example.com/v1","kind":"GpuConfig")";
  ModuleIdentity identity;
};

TEST_F(ParamsTest, DecodesOnlyWrittenMembers) {
  const auto decoded = decode_params(
      identity, "{" + kType + R"(,"mig":"single","interval":"5s","ignore":["x"],"strict":true,"replicas":4})");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->entries.size(), 5u);
  EXPECT_EQ(decoded->entries.find("interval")->second.value, OptionValue(std::int64_t{5'000'000'000}));
}

TEST_F(ParamsTest, ResolvesMemberByMemberInRisingPrecedence) {
  const auto by_class = decode_params(identity, "{" + kType + R"(,"mig":"single","replicas":2})");
  const auto by_claim = decode_params(identity, "{" + kType + R"(,"replicas":3})");
  const auto values = resolve_params(identity, {*by_class, *by_claim});
  ASSERT_TRUE(values);
  EXPECT_EQ(values->entries.find("mig")->second, (OptionValues::Entry{OptionValue("single"), true}));
  EXPECT_EQ(values->entries.find("replicas")->second, (OptionValues::Entry{OptionValue(std::int64_t{3}), true}));
  EXPECT_EQ(values->entries.find("strict")->second, (OptionValues::Entry{OptionValue(false), false}));
}

TEST_F(ParamsTest, RefusesClaimsWithoutARequiredParameter) {
  identity.params[0].required = true;
  identity.params[0].default_text.clear();
  EXPECT_EQ(resolve_params(identity, {}).error().message, "parameter 'mig' is required (help of mig)");
  EXPECT_TRUE(resolve_params(identity, {*decode_params(identity, "{" + kType + R"(,"mig":"none"})")}));
}

TEST_F(ParamsTest, RefusesUnknownAndRepeatedMembers) {
  EXPECT_EQ(refusal(R"(,"replica":1)"), "there is no parameter 'replica' (did you mean 'replicas'?)");
  identity.id = "gpu";
  EXPECT_EQ(
      refusal(R"(,"colour":1)"),
      "there is no parameter 'colour'; module 'gpu' has 'mig', 'replicas', 'interval', 'ignore', 'token', 'strict'");
  EXPECT_EQ(refusal(R"(,"mig":"none","mig":"mixed")"), "parameters have 'mig' twice");
  EXPECT_EQ(refusal(R"(,"mig":{"a":1,"a":2})"), "parameters have 'a' twice");
}

TEST_F(ParamsTest, ChecksValuesLikeOptions) {
  EXPECT_EQ(refusal(R"(,"replicas":9)"), "parameter 'replicas' is 9, expected 1 to 8");
  EXPECT_EQ(refusal(R"(,"replicas":1.5)"), "parameter 'replicas' is not an integer of 64 bits");
  EXPECT_EQ(refusal(R"(,"replicas":18446744073709551615)"), "parameter 'replicas' is not an integer of 64 bits");
  EXPECT_EQ(refusal(R"(,"mig":null)"), "parameter 'mig' is null, which no parameter can be");
  EXPECT_EQ(refusal(R"(,"mig":{})"), "parameter 'mig' is an object, which no parameter can be");
  EXPECT_EQ(refusal(R"(,"ignore":[1])"),
            "parameter 'ignore' is a list with other values than strings, which no parameter can be");
}

// Errors reach pod events and logs, where nobody in the cluster may inject lines.
TEST_F(ParamsTest, NeverRepeatsControlCharacters) {
  for (const char* members : {R"(,"interval":"1\n2")", R"(,"mig":"a\nb")", R"(,"a\nb":1)", R"(,"a\nb":1,"a\nb":2)"}) {
    EXPECT_EQ(refusal(members).find('\n'), std::string::npos) << members;
    EXPECT_NE(refusal(members), "was taken");
  }
}

TEST_F(ParamsTest, RefusesAnotherTypeThanTheDeclaredOne) {
  EXPECT_EQ(whole(R"({"kind":"GpuConfig"})"), "parameters have no apiVersion, expected 'gpu.example.com/v1'");
  EXPECT_EQ(whole(R"({"apiVersion":"gpu.example.com/v1","kind":"Other"})"),
            "parameters have kind \"Other\", expected 'GpuConfig'");
  EXPECT_EQ(whole(R"({"apiVersion":7})"), "parameters have apiVersion 7, expected 'gpu.example.com/v1'");
}

TEST_F(ParamsTest, RefusesParametersThatAreNoObjectOrTooLargeOrTooDeep) {
  EXPECT_EQ(whole("[1]"), "parameters are not a JSON object");
  EXPECT_THAT(whole("{\"a\":"), HasSubstr("parameters are not JSON: "));
  EXPECT_THAT(whole("{} trailing"), HasSubstr("parameters are not JSON: "));
  EXPECT_THAT(whole(""), HasSubstr("parameters are not JSON: "));
  EXPECT_EQ(whole(std::string(kMaxParameterBytes + 1, ' ')), "parameters have 10241 bytes, at most 10240 are allowed");
  EXPECT_THAT(whole(std::string(5000, '[')), HasSubstr("parameters are not JSON: "));
}

TEST_F(ParamsTest, ChecksOnlyTheSyntaxForModulesThatDeclareNothing) {
  const ModuleIdentity bare;
  const auto decoded = decode_params(bare, R"({"anything":{"goes":[1,2,null]},"kind":"X"})");
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(decoded->entries.empty());
  EXPECT_FALSE(decode_params(bare, "7"));
  EXPECT_FALSE(decode_params(bare, R"({"a":1,"a":2})"));
}

}  // namespace
}  // namespace cardcage
