#include "host/admission/policy.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <map>

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

OptionDeclaration field(const std::string& name, OptionType type = OptionType::kInteger) {
  OptionDeclaration declaration;
  declaration.name = name;
  declaration.type = type;
  return declaration;
}
ParamsSchema schema(const std::string& kind, std::vector<OptionDeclaration> fields) {
  return {.api_version = kind.empty() ? "" : "x/v1", .kind = kind, .fields = std::move(fields), .device_kinds = {}};
}

class PolicyTest : public ::testing::Test {
 protected:
  void make(std::vector<DeclaredParams> modules) {
    const auto result = admission_policy("gpu.example.com", modules);
    ASSERT_TRUE(result) << result.error().message;
    made = *result;
    for (const auto& variable : made.policy.at("spec").at("variables").as_array()) {
      names.emplace_back(variable.at("name").as_string());
      expressions[names.back()] = variable.at("expression").as_string();
    }
  }
  static std::string refusal(std::vector<DeclaredParams> modules) {
    const auto result = admission_policy("gpu.example.com", modules);
    return result ? "was made" : result.error().message;
  }

  AdmissionPolicy made;
  std::vector<std::string> names;
  std::map<std::string, std::string> expressions;
};

TEST_F(PolicyTest, IsBoundUnderTheNameOfTheDriver) {
  make({{"gpu", {schema("GpuConfig", {field("mtu")})}}});
  EXPECT_EQ(made.policy.at("metadata").at("name"), "gpu.example.com");
  EXPECT_EQ(made.policy.at("spec").at("failurePolicy"), "Ignore");
  EXPECT_EQ(boost::json::serialize(made.binding.at("spec")),
            R"({"policyName":"gpu.example.com","validationActions":["Deny"]})");
  EXPECT_THAT(expressions["entries"], HasSubstr("c.?opaque.?driver.orValue('') == 'gpu.example.com'"));
}

TEST_F(PolicyTest, EachNestedObjectIsAVariableAfterTheOneAroundIt) {
  make({{"gpu", {schema("GpuConfig", {field("a.b.c"), field("d"), field("a.e")})}}});
  EXPECT_THAT(names, ElementsAre("inClaim", "path", "config", "changed", "entries", "unknownKinds", "kind1", "kind1_1",
                                 "kind1_2", "kind1_problems", "problems"));
  EXPECT_THAT(expressions["kind1_1"], AllOf(HasSubstr("variables.kind1.map("), HasSubstr("o.value['a']")));
  EXPECT_THAT(expressions["kind1_2"], AllOf(HasSubstr("variables.kind1_1.map("), HasSubstr("o.value['b']")));
  EXPECT_THAT(expressions["kind1_problems"],
              AllOf(HasSubstr("it takes 'a', 'd'"), HasSubstr("it takes 'b', 'e'"), HasSubstr("it takes 'c'"),
                    HasSubstr("'.a must be an object'"), HasSubstr("'.e must be an integer'")));
}

// The API server refuses an expression that is nested deeper than 250.
TEST_F(PolicyTest, ManyParametersAreJudgedInParts) {
  std::vector<OptionDeclaration> fields;
  for (int n = 0; n < 300; ++n) fields.push_back(field(fmt::format("field{}", n)));
  make({{"gpu", {schema("GpuConfig", fields)}}});
  std::size_t judged = 0;
  for (const auto& [name, expression] : expressions) {
    const auto terms = static_cast<std::size_t>(std::ranges::count(expression, '\n')) + 1;
    EXPECT_LE(terms, 16u) << name;
    if (expression.contains(" must be an integer'")) judged += terms;
  }
  EXPECT_EQ(judged, fields.size() + 1) << "including the one for unknown names";
  EXPECT_THAT(expressions["kind1_problems"],
              AllOf(HasSubstr("variables.kind1_problems20 +"), HasSubstr("variables.kind1_problems21")));
  EXPECT_THAT(expressions["kind1_problems20"], HasSubstr("variables.kind1_problems16"));
}

TEST_F(PolicyTest, AClassOnlyParameterIsRefusedInClaimsAndMissedInClassesIfRequired) {
  auto clock = field("clocks.maxMhz"), quota = field("quota"), needed = field("needed");
  clock.class_only = quota.class_only = true;
  quota.required = needed.required = true;
  make({{"gpu", {schema("GpuConfig", {clock, quota, needed})}}});
  const std::string& problems = expressions["kind1_problems"];
  EXPECT_THAT(problems, AllOf(HasSubstr("variables.inClaim && 'maxMhz' in o.value"),
                              HasSubstr("variables.inClaim && 'quota' in o.value"),
                              HasSubstr("'spec.config has no quota, which a DeviceClass must give'")));
  EXPECT_THAT(problems, AllOf(Not(HasSubstr("variables.inClaim && 'needed'")), Not(HasSubstr("has no needed")),
                              Not(HasSubstr("has no clocks.maxMhz"))));
}

TEST_F(PolicyTest, AnAmountIsANumberOrAQuantityOfKubernetes) {
  auto size = field("size"), limits = field("limits");
  size.type = OptionType::kString;
  limits.type = OptionType::kMap;
  size.quantity = limits.quantity = true;
  make({{"gpu", {schema("GpuConfig", {size, limits})}}});
  EXPECT_THAT(expressions["kind1_problems"],
              AllOf(HasSubstr("(type(v) == int || type(v) == double || (type(v) == string && isQuantity(v)))"),
                    HasSubstr("'.size must be an amount such as 4Gi'"), HasSubstr("isQuantity(v[k])"),
                    HasSubstr("'.limits must be an object with amounts as values'")));
}

TEST_F(PolicyTest, ADocumentWithoutNamesIsJudgedAsTheDefaultKind) {
  ParamsSchema any = schema("AnyConfig", {field("a")});
  any.is_default = true;
  make({{"gpu", {schema("GpuConfig", {field("b")}), any}}});
  const std::string is_any =
      "(!('apiVersion' in o.value) && !('kind' in o.value)) || (o.value.?apiVersion.orValue('') == 'x/v1' && "
      "o.value.?kind.orValue('') == 'AnyConfig')";
  EXPECT_EQ(expressions["kind2"], "variables.entries.filter(o, " + is_any + ")");
  EXPECT_THAT(expressions["unknownKinds"], HasSubstr(is_any));
}

TEST_F(PolicyTest, ModulesWithTheSameFileAreJudgedOnce) {
  const DeclaredParams one{"one", {schema("GpuConfig", {field("mtu")})}};
  make({one, {"two", one.schemas}});
  EXPECT_FALSE(expressions.contains("kind2"));
}

TEST_F(PolicyTest, TheKindsOfAllModulesOfTheDriverAreKnown) {
  make({{"gpu", {schema("GpuConfig", {field("a")})}}, {"nic", {schema("NicConfig", {field("b")})}}});
  EXPECT_THAT(expressions["unknownKinds"], HasSubstr("x/v1 GpuConfig or x/v1 NicConfig"));
  EXPECT_TRUE(expressions.contains("kind2_problems"));
}

TEST_F(PolicyTest, OtherKindsPassIfAModuleMayTakeThem) {
  make({{"gpu", {schema("GpuConfig", {field("a")})}}, {"nic", {}}});
  EXPECT_FALSE(expressions.contains("unknownKinds"));
  EXPECT_TRUE(expressions.contains("kind1_problems"));
}

TEST_F(PolicyTest, ASchemaWithoutAKindIsJudgedIfItIsTheOnlyOne) {
  make({{"gpu", {schema("", {field("a")})}}});
  EXPECT_EQ(expressions["kind1"], "variables.entries.filter(o, true)");
}

TEST_F(PolicyTest, ASchemaWithoutAKindIsNotJudgedBesideOthers) {
  make({{"gpu", {schema("", {field("a")})}}, {"nic", {schema("NicConfig", {field("b")})}}});
  EXPECT_FALSE(expressions.contains("unknownKinds"));
  EXPECT_THAT(expressions["kind1_problems"], HasSubstr("it takes 'b'"));
  EXPECT_FALSE(expressions.contains("kind2"));
}

TEST_F(PolicyTest, OnlyTheNamesAreJudgedIfTheModuleReadsTheFieldsItself) {
  ParamsSchema raw = schema("GpuConfig", {});
  raw.raw = true;
  make({{"gpu", {raw}}});
  EXPECT_TRUE(expressions.contains("unknownKinds"));
  EXPECT_FALSE(expressions.contains("kind1"));
}

TEST_F(PolicyTest, AKindWithoutFieldsTakesNone) {
  make({{"gpu", {schema("GpuConfig", {})}}});
  EXPECT_THAT(expressions["kind1_problems"], HasSubstr("it takes none"));
}

TEST_F(PolicyTest, FailsIfNothingIsDeclaredOrTwoModulesContradictEachOther) {
  EXPECT_EQ(refusal({{"gpu", {}}}),
            "no module of driver 'gpu.example.com' declares parameters that a policy can judge; the modules check them "
            "themselves in prepare");
  EXPECT_EQ(refusal({{"one", {schema("GpuConfig", {field("a")})}}, {"two", {schema("GpuConfig", {field("b")})}}}),
            "driver 'gpu.example.com': module 'two' declares x/v1 GpuConfig differently from another module of the "
            "driver; run one version of them");
}

// Nothing that a module declares may end a text of the policy.
TEST_F(PolicyTest, QuotesWhatTheModuleDeclares) {
  auto mode = field("mode", OptionType::kString);
  mode.choices = {"a'\"b\\", "größer"};
  make({{"gpu", {schema("it's", {mode})}}});
  EXPECT_THAT(expressions["kind1"], HasSubstr("== \"it's\""));
  EXPECT_THAT(expressions["kind1_problems"], HasSubstr("v in ['a\\'\"b\\\\', 'gr\\U000000f6\\U000000dfer']"));
}

}  // namespace
}  // namespace cardcage
