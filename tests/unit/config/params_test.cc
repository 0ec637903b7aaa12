#include "host/config/params.h"

#include <gmock/gmock.h>

#include "tests/unit/config/declarations.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

class ParamsTest : public ::testing::Test {
 protected:
  ParamsTest() {
    identity.id = "x";
    identity.schemas.push_back({.api_version = "gpu.example.com/v1", .kind = "GpuConfig", .fields = declarations()});
  }
  std::string refusal(const std::string& members) { return whole("{" + kType + members + "}"); }
  std::string whole(const std::string& json) {
    const auto decoded = decode_params(identity, ConfigSource::kClaim, json);
    return decoded ? "was taken" : decoded.error().message;
  }
  Result<DecodedParams> claim(const std::string& members) {
    return decode_params(identity, ConfigSource::kClaim, "{" + kType + members + "}");
  }
  const std::string kType = R"("apiVersion":"gpu.example.com/v1","kind":"GpuConfig")";
  ModuleIdentity identity;
};

TEST_F(ParamsTest, DecodesOnlyWrittenMembers) {
  const auto decoded = claim(R"(,"mig":"single","interval":"5s","ignore":["x"],"strict":true,"replicas":4)");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->values.entries.size(), 5u);
  EXPECT_EQ(decoded->values.entries.find("interval")->second,
            (OptionValues::Entry{OptionValue(std::int64_t{5'000'000'000}), true, ConfigSource::kClaim}));
}

TEST_F(ParamsTest, ResolvesMemberByMemberInRisingPrecedence) {
  const auto by_class = decode_params(identity, ConfigSource::kClass, "{" + kType + R"(,"mig":"single","replicas":2})");
  const auto values = resolve_params(identity, "gpu", {*by_class, *claim(R"(,"replicas":3)")});
  ASSERT_TRUE(values);
  EXPECT_EQ(values->kind, "GpuConfig");
  EXPECT_EQ(values->entries.find("mig")->second,
            (OptionValues::Entry{OptionValue("single"), true, ConfigSource::kClass}));
  EXPECT_EQ(values->entries.find("replicas")->second,
            (OptionValues::Entry{OptionValue(std::int64_t{3}), true, ConfigSource::kClaim}));
  EXPECT_EQ(values->entries.find("strict")->second, (OptionValues::Entry{OptionValue(false), false}));
}

TEST_F(ParamsTest, RefusesClaimsWithoutARequiredParameter) {
  identity.schemas[0].fields[0].required = true;
  identity.schemas[0].fields[0].default_text.clear();
  EXPECT_EQ(resolve_params(identity, "gpu", {}).error().message, "parameter 'mig' is required (help of mig)");
  EXPECT_TRUE(resolve_params(identity, "gpu", {*claim(R"(,"mig":"none")")}));
  identity.schemas[0].fields[0].class_only = true;
  EXPECT_EQ(resolve_params(identity, "gpu", {}).error().message,
            "parameter 'mig' is required of the DeviceClass (help of mig)");
}

TEST_F(ParamsTest, RefusesUnknownAndRepeatedMembers) {
  EXPECT_EQ(refusal(R"(,"replica":1)"), "there is no parameter 'replica' (did you mean 'replicas'?)");
  EXPECT_EQ(refusal(R"(,"colour":1)"),
            "there is no parameter 'colour'; GpuConfig of module 'x' has 'mig', 'replicas', 'interval', 'ignore', "
            "'token', 'strict'");
  EXPECT_EQ(refusal(R"(,"mig":"none","mig":"mixed")"), "parameters have 'mig' twice");
  EXPECT_EQ(refusal(R"(,"mig":{"a":1,"a":2})"), "parameters have 'a' twice");
}

TEST_F(ParamsTest, ChecksValuesLikeOptions) {
  EXPECT_EQ(refusal(R"(,"replicas":9)"), "parameter 'replicas' is 9, expected 1 to 8");
  EXPECT_EQ(refusal(R"(,"replicas":1.5)"), "parameter 'replicas' is not an integer of 64 bits");
  EXPECT_EQ(refusal(R"(,"replicas":18446744073709551615)"), "parameter 'replicas' is not an integer of 64 bits");
  EXPECT_EQ(refusal(R"(,"mig":null)"), "parameter 'mig' is null, which no parameter can be");
  EXPECT_EQ(refusal(R"(,"mig":{})"), "parameter 'mig' is an object, expected a string");
  EXPECT_EQ(refusal(R"(,"ignore":[1])"), "parameter 'ignore' is a list with a number, expected strings");
}

// Errors appear in pod events and logs, and no user of the cluster may inject lines there.
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
  const auto decoded = decode_params(bare, ConfigSource::kClaim, R"({"anything":{"goes":[1,2,null]},"kind":"X"})");
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(resolve_params(bare, "gpu", {*decoded})->empty());
  EXPECT_FALSE(decode_params(bare, ConfigSource::kClaim, "7"));
  EXPECT_FALSE(decode_params(bare, ConfigSource::kClaim, R"({"a":1,"a":2})"));
}

TEST_F(ParamsTest, ChecksOnlyTheNamesForModulesThatReadTheFieldsThemselves) {
  identity.schemas = {{.api_version = "gpu.example.com/v1", .kind = "GpuConfig", .raw = true}};
  const auto decoded = claim(R"(,"anything":{"goes":1})");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_TRUE(resolve_params(identity, "gpu", {*decoded})->empty());
  EXPECT_EQ(whole(R"({"apiVersion":"gpu.example.com/v1","kind":"Other"})"),
            "parameters have kind \"Other\", expected 'GpuConfig'");
}

// Two kinds, one for gpus and one for all devices, with nested fields, a map and a field of the class.
class SchemasTest : public ::testing::Test {
 protected:
  SchemasTest() {
    auto threads = declare("sharing.mps.threads", OptionType::kInteger);
    threads.max = 100;
    auto limits = declare("sharing.mps.limits", OptionType::kMap);
    limits.max = 2;
    auto clock = declare("clock", OptionType::kInteger);
    clock.class_only = true;
    auto strategy = declare("sharing.strategy", OptionType::kString);
    strategy.default_text = "None";
    identity.id = "x";
    identity.schemas = {{.api_version = "x/v1",
                         .kind = "GpuConfig",
                         .fields = {strategy, threads, limits, clock},
                         .device_kinds = {"gpu"}},
                        {.api_version = "x/v1", .kind = "AnyConfig", .fields = {declare("note", OptionType::kString)}}};
  }
  Result<DecodedParams> gpu(const std::string& members, ConfigSource source = ConfigSource::kClaim) {
    return decode_params(identity, source, R"({"apiVersion":"x/v1","kind":"GpuConfig",)" + members + "}");
  }
  std::string refusal(const std::string& members) {
    const auto decoded = gpu(members);
    return decoded ? "was taken" : decoded.error().message;
  }
  std::string whole(const std::string& json) {
    const auto decoded = decode_params(identity, ConfigSource::kClaim, json);
    return decoded ? "was taken" : decoded.error().message;
  }
  ModuleIdentity identity;
};

// As a module gets a list whose items may be objects.
TEST_F(SchemasTest, AnItemThatIsAnObjectComesAsLines) {
  auto routes = declare("routes", OptionType::kList);
  routes.objects = true;
  routes.max = 3;
  identity.schemas[0].fields.push_back(routes);
  const auto decoded =
      gpu(R"("routes":["10.0.0.0/8 via 10.1.2.1",{"table":100,"destination":"10.9.0.0/16","onlink":true},{}])");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(
      std::get<std::vector<std::string>>(decoded->values.entries.at("routes").value),
      (std::vector<std::string>{"10.0.0.0/8 via 10.1.2.1", "destination=10.9.0.0/16\nonlink=true\ntable=100\n", ""}));
  for (const auto& [given, message] : std::map<std::string, std::string>{
           {"[1]", "parameter 'routes' is a list with a number, expected strings and objects"},
           {"7", "parameter 'routes' is an integer, expected a list of strings and objects"},
           {R"([{"a":[]}])",
            "parameter 'routes' has a list under 'a' of an object, expected a string, an integer or a boolean"},
           {R"([{"a":1.5}])",
            "parameter 'routes' has a number under 'a' of an object, expected a string, an integer or a boolean"},
           {R"([{"a":"b\nc"}])", "parameter 'routes' has more than one line under 'a' of an object"},
           {R"([{"a=b":1}])", "parameter 'routes' has an object with 'a=b', which is not a name"},
           {R"([{"":1}])", "parameter 'routes' has an object with '', which is not a name"},
           {R"([{},{},{},{}])", "parameter 'routes' has 4 entries, expected 0 to 3"}})
    EXPECT_EQ(refusal(R"("routes":)" + given), message);
  EXPECT_EQ(refusal(R"("sharing":{"strategy":[{}]})"),
            "parameter 'sharing.strategy' is a list of strings, expected a string");
}

TEST_F(SchemasTest, ADocumentWithoutNamesIsOfTheDefaultKind) {
  const auto without = [&](const std::string& members) {
    return decode_params(identity, ConfigSource::kClaim, "{" + members + "}");
  };
  EXPECT_FALSE(without(R"("note":"a")"));
  identity.schemas[1].is_default = true;
  const auto decoded = without(R"("note":"a")");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->schema->kind, "AnyConfig");
  EXPECT_EQ(without(R"("clock":1)").error().message,
            "there is no parameter 'clock'; AnyConfig of module 'x' has 'note'");
  EXPECT_FALSE(without(R"("kind":"AnyConfig","note":"a")")) << "it names one of the two";
  EXPECT_TRUE(gpu(R"("clock":1)", ConfigSource::kClass));
}

TEST_F(SchemasTest, ReadsNestedObjectsAndMaps) {
  const auto decoded = gpu(R"("sharing":{"strategy":"MPS","mps":{"threads":50,"limits":{"b":"2Gi","a":"1Gi"}}})");
  ASSERT_TRUE(decoded) << decoded.error().message;
  const auto values = resolve_params(identity, "gpu", {*decoded});
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(values->kind, "GpuConfig");
  EXPECT_EQ(values->entries.at("sharing.strategy").value, OptionValue("MPS"));
  EXPECT_EQ(values->entries.at("sharing.mps.threads").value, OptionValue(std::int64_t{50}));
  EXPECT_EQ(values->entries.at("sharing.mps.limits").value, OptionValue(TextMap{{"a", "1Gi"}, {"b", "2Gi"}}));
  EXPECT_FALSE(values->entries.at("clock").given);
  EXPECT_FALSE(values->entries.at("clock").source);
  EXPECT_TRUE(gpu(R"("sharing":{"mps":{}})")) << "an empty object gives nothing";
}

TEST_F(SchemasTest, OverridesFieldByFieldAlsoInNestedObjects) {
  const auto by_class =
      gpu(R"("sharing":{"strategy":"MPS","mps":{"limits":{"a":"1Gi"}}},"clock":7)", ConfigSource::kClass);
  ASSERT_TRUE(by_class) << by_class.error().message;
  const auto by_claim = gpu(R"("sharing":{"mps":{"threads":9,"limits":{"b":"2Gi"}}})");
  const auto values = resolve_params(identity, "gpu", {*by_class, *by_claim});
  EXPECT_EQ(values->entries.at("sharing.strategy").source, ConfigSource::kClass);
  EXPECT_EQ(values->entries.at("sharing.mps.threads").source, ConfigSource::kClaim);
  EXPECT_EQ(values->entries.at("sharing.mps.limits").value, OptionValue(TextMap{{"b", "2Gi"}})) << "a map is one value";
  EXPECT_EQ(values->entries.at("clock").value, OptionValue(std::int64_t{7}));
}

TEST_F(SchemasTest, TellsWhichObjectsAreThere) {
  const auto values = resolve_params(identity, "gpu", {*gpu(R"("sharing":{"mps":{}})")});
  ASSERT_TRUE(values);
  EXPECT_TRUE(values->entries.at("sharing").given);
  EXPECT_TRUE(values->entries.at("sharing.mps").given);
  EXPECT_EQ(values->entries.at("sharing.mps").source, ConfigSource::kClaim);
  const auto defaults = resolve_params(identity, "gpu", {});
  EXPECT_FALSE(defaults->entries.at("sharing").given);
  EXPECT_FALSE(defaults->entries.at("sharing.mps").given);
}

TEST_F(SchemasTest, OfWholeDocumentsTheLastCountsAlone) {
  identity.schemas[0].whole = true;
  const auto first = gpu(R"("sharing":{"strategy":"MPS","mps":{"threads":9}},"clock":7)", ConfigSource::kClass);
  ASSERT_TRUE(first) << first.error().message;
  const auto values = resolve_params(identity, "gpu", {*first, *gpu(R"("sharing":{"strategy":"None"})")});
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(values->entries.at("sharing.strategy").value, OptionValue("None"));
  for (const char* of_the_first : {"sharing.mps", "sharing.mps.threads", "clock"})
    EXPECT_FALSE(values->entries.at(of_the_first).given) << of_the_first;
}

TEST_F(SchemasTest, AWholeDocumentThatIsReplacedMayHaveWrongValuesButNotWrongTypes) {
  identity.schemas[0].whole = true;
  const auto wrong = gpu(R"("sharing":{"mps":{"threads":101}})"), right = gpu(R"("sharing":{"mps":{"threads":100}})");
  ASSERT_TRUE(wrong) << wrong.error().message;
  EXPECT_TRUE(resolve_params(identity, "gpu", {*wrong, *right}));
  const std::string flaw = "parameter 'sharing.mps.threads' is 101, expected 0 to 100";
  EXPECT_EQ(resolve_params(identity, "gpu", {*right, *wrong}).error().message, flaw);
  EXPECT_EQ(refusal(R"("sharing":{"mps":{"threads":"half"}})"),
            "parameter 'sharing.mps.threads' is a string, expected an integer");
}

TEST_F(SchemasTest, AmountsAreWholeNumbersInTheEnd) {
  auto size = declare("size", OptionType::kString);
  size.quantity = identity.schemas[0].fields[2].quantity = true;
  identity.schemas[0].fields.push_back(size);
  const auto of = [&](const std::string& written) {
    const auto decoded = gpu(R"("size":)" + written + R"(,"sharing":{"mps":{"limits":{"a":)" + written + "}}}");
    if (!decoded) return decoded.error().message;
    const auto& text = std::get<std::string>(decoded->values.entries.at("size").value);
    EXPECT_EQ(decoded->values.entries.at("sharing.mps.limits").value, OptionValue(TextMap{{"a", text}}));
    return text;
  };
  EXPECT_EQ(of(R"("1.5Gi")"), "1610612736");
  EXPECT_EQ(of("1e10"), "10000000000");
  EXPECT_EQ(of(R"("10E9")"), "10000000000");
  EXPECT_EQ(of("4096"), "4096");
  EXPECT_EQ(of("0.1"), "1");
  for (const char* wrong : {R"("lots")", R"("")", R"("-1")", "-1", R"("16Ei")", "1e300"})
    EXPECT_THAT(of(wrong), HasSubstr(", expected an amount such as 4Gi")) << wrong;
  EXPECT_EQ(of("true"), "parameter 'size' is a boolean, expected an amount such as 4Gi");
}

TEST_F(SchemasTest, NamesTheFieldByItsPath) {
  EXPECT_EQ(refusal(R"("sharing":{"mps":{"threads":"half"}})"),
            "parameter 'sharing.mps.threads' is a string, expected an integer");
  EXPECT_EQ(refusal(R"("sharing":{"mps":{"threads":101}})"),
            "parameter 'sharing.mps.threads' is 101, expected 0 to 100");
  EXPECT_EQ(refusal(R"("sharing":{"mps":[]})"), "parameter 'sharing.mps' is a list, expected an object");
  EXPECT_EQ(refusal(R"("sharing":null)"), "parameter 'sharing' is null, expected an object");
  EXPECT_EQ(refusal(R"("sharing":{"startegy":"MPS"})"),
            "there is no parameter 'sharing.startegy' (did you mean 'sharing.strategy'?)");
  EXPECT_EQ(refusal(R"("sharin":{"strategy":"MPS"})"), "there is no parameter 'sharin' (did you mean 'sharing'?)");
  EXPECT_EQ(refusal(R"("sharing":{"mps":{"colour":1}})"),
            "there is no parameter 'sharing.mps.colour'; GpuConfig of module 'x' has 'sharing.mps.threads', "
            "'sharing.mps.limits'");
  EXPECT_EQ(refusal(R"("sharing.strategy":"MPS")"),
            "'sharing.strategy' is not the name of a parameter; write nested objects");
  EXPECT_EQ(refusal(R"("sharing":{"kind":"MPS"})"),
            "there is no parameter 'sharing.kind'; GpuConfig of module 'x' has 'sharing.strategy', 'sharing.mps'");
}

TEST_F(SchemasTest, RefusesMapsThatAreNone) {
  EXPECT_EQ(refusal(R"("sharing":{"mps":{"limits":"1Gi"}})"),
            "parameter 'sharing.mps.limits' is a string, expected an object with strings as values");
  EXPECT_EQ(refusal(R"("sharing":{"mps":{"limits":{"a":1}}})"),
            "parameter 'sharing.mps.limits' has a number under 'a', expected a string");
  EXPECT_EQ(refusal(R"("sharing":{"mps":{"limits":{"a":"","b":"","c":""}}})"),
            "parameter 'sharing.mps.limits' has 3 entries, expected 0 to 2");
  EXPECT_EQ(refusal(R"("sharing":{"mps":{"limits":{"":"x"}}})"),
            "parameter 'sharing.mps.limits' has a key that is not one line of 1 to 253 bytes");
  EXPECT_EQ(refusal(R"("sharing":{"mps":{"limits":{"a":"x","a":"y"}}})"), "parameters have 'a' twice");
  identity.schemas[0].fields[2].max = 0;
  std::string many;
  for (int i = 0; i < 129; ++i) many += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":\"\"";
  EXPECT_EQ(refusal(R"("sharing":{"mps":{"limits":{)" + many + "}}}"),
            "parameter 'sharing.mps.limits' has 129 entries, at most 128 are allowed");
}

TEST_F(SchemasTest, KeepsTheFieldsOfTheClassFromTheClaim) {
  EXPECT_EQ(
      refusal(R"("clock":7)"),
      "parameter 'clock' may be given by a DeviceClass only; remove it from the claim, or ask the administrator of "
      "the cluster for a class that has it");
}

TEST_F(SchemasTest, ListsTheKindsThatTheModuleKnows) {
  EXPECT_EQ(whole(R"({"apiVersion":"x/v1","kind":"GpuConfg"})"),
            "parameters have kind \"GpuConfg\", expected one of 'GpuConfig', 'AnyConfig' (did you mean 'GpuConfig'?)");
  EXPECT_EQ(whole(R"({"apiVersion":"x/v2","kind":"GpuConfig"})"),
            "parameters have apiVersion \"x/v2\", expected 'x/v1'");
  EXPECT_EQ(whole(R"({"apiVersion":"x/v1"})"), "parameters have no kind, expected one of 'GpuConfig', 'AnyConfig'");
  EXPECT_EQ(whole(R"({"apiVersion":"x/v1","kind":7})"),
            "parameters have kind 7, expected one of 'GpuConfig', 'AnyConfig'");
}

TEST_F(SchemasTest, VersionsOfOneKindAreSchemasOfTheirOwn) {
  identity.schemas[1] = {
      .api_version = "x/v2", .kind = "GpuConfig", .fields = {declare("share", OptionType::kBoolean)}};
  const auto decoded =
      decode_params(identity, ConfigSource::kClaim, R"({"apiVersion":"x/v2","kind":"GpuConfig","share":true})");
  ASSERT_TRUE(decoded) << decoded.error().message;
  const auto values = resolve_params(identity, "gpu", {*gpu(R"("sharing":{})"), *decoded});
  EXPECT_EQ(values->entries.size(), 1u);
}

TEST_F(SchemasTest, TheLastDocumentDecidesTheKind) {
  const auto any =
      decode_params(identity, ConfigSource::kClass, R"({"apiVersion":"x/v1","kind":"AnyConfig","note":"n"})");
  const auto values = resolve_params(identity, "gpu", {*any, *gpu(R"("sharing":{"strategy":"MPS"})")});
  EXPECT_EQ(values->kind, "GpuConfig");
  EXPECT_FALSE(values->entries.contains("note"));
  EXPECT_EQ(resolve_params(identity, "gpu", {*gpu(R"("sharing":{})"), *any})->entries.at("note").value,
            OptionValue("n"));
}

TEST_F(SchemasTest, ADeviceWithoutParametersHasTheDefaultsOfTheFirstKindThatItTakes) {
  EXPECT_EQ(resolve_params(identity, "gpu", {})->entries.at("sharing.strategy").value, OptionValue("None"));
  EXPECT_EQ(resolve_params(identity, "nic", {})->kind, "AnyConfig");
  identity.schemas.pop_back();
  EXPECT_TRUE(resolve_params(identity, "nic", {})->empty());
}

}  // namespace
}  // namespace cardcage
