// Modules of 0.3 with parameters in cage_module.params, and the drafts before 0.3 (tests/abi/kept).
#include "host/config/params.h"
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class KeptParamsScenarios : public ModuleFixture, public ::testing::WithParamInterface<Isolation> {
 protected:
  KeptParamsScenarios() : ModuleFixture(GetParam()) { modules_dir = built("tests/unit/module/kept"); }
  void SetUp() override {
#ifndef __x86_64__
    GTEST_SKIP() << "the kept modules are for x86_64";
#endif
  }
  // Prepares a claim with the document as the daemon does.
  std::vector<EnvVar> prepare(const std::string& document) {
    ModuleClaim wanted = claim("u1", {"card-0"});
    const auto decoded = decode_params(module->identity(), ConfigSource::kClaim, document);
    EXPECT_TRUE(decoded) << decoded.error().message;
    if (!decoded) return {};
    wanted.allocations[0].values = *resolve_params(module->identity(), "card", {*decoded});
    wanted.params = {{.source = ConfigSource::kClaim, .requests = {}, .json = document}};
    const auto prepared = run(module->call(PrepareCall{wanted}, soon()));
    EXPECT_TRUE(prepared) << prepared.error().message;
    return prepared ? prepared->allocations.at(0).env : std::vector<EnvVar>();
  }
};

INSTANTIATE_TEST_SUITE_P(Kept, KeptParamsScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(KeptParamsScenarios, NamedParamsAreASchema) {
  ASSERT_TRUE(start("0.3/params_c.so"));
  const ModuleIdentity& identity = module->identity();
  EXPECT_EQ(identity.abi.to_string(), "0.3");
  ASSERT_THAT(identity.schemas, SizeIs(1));
  EXPECT_EQ(identity.schemas[0].api_version, "kept.cardcage.dev/v1");
  EXPECT_EQ(identity.schemas[0].kind, "CardConfig");
  const std::string document = R"({"apiVersion":"kept.cardcage.dev/v1","kind":"CardConfig","mode":"quiet"})";
  EXPECT_THAT(prepare(document), ElementsAre(EnvVar{"MODE", "quiet"}, EnvVar{"TEXT", document}));
  EXPECT_FALSE(decode_params(identity, ConfigSource::kClaim, R"({"kind":"OtherConfig","mode":"quiet"})"));
}

TEST_P(KeptParamsScenarios, ParamsWithoutNamesTakeAnyDocument) {
  ASSERT_TRUE(start("0.3/nameless_c.so"));
  for (const std::string document : {R"({"mode":"quiet"})", R"({"kind":"OtherConfig","mode":"quiet"})"})
    EXPECT_THAT(prepare(document), ElementsAre(EnvVar{"MODE", "quiet"}, EnvVar{"TEXT", document}));
}

TEST_P(KeptParamsScenarios, ParamsWithNamesAloneAreReadByTheModule) {
  ASSERT_TRUE(start("0.3/raw_c.so"));
  const std::string document = R"({"apiVersion":"kept.cardcage.dev/v1","kind":"CardConfig","anything":[1]})";
  EXPECT_THAT(prepare(document), ElementsAre(EnvVar{"TEXT", document}));
  EXPECT_FALSE(decode_params(module->identity(), ConfigSource::kClaim, R"({"kind":"OtherConfig"})"));
}

TEST_P(KeptParamsScenarios, TheDraftsBeforeAreRefused) {
  for (const char* file : {"0.2/card_c.so", "0.2/card_cc.so"}) {
    const auto loaded = load(config(file));
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().message, HasSubstr("is refused: it is built for module ABI 0.2, which was a draft, and "
                                                  "this host has 1.0: rebuild it with the headers of 1.0"));
  }
}

}  // namespace
}  // namespace cardcage
