// Modules with CAGE_MODULE_NO_PREPARE in both isolations [R26].
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

class NoPrepareScenarios : public ModuleFixture, public ::testing::WithParamInterface<Isolation> {
 protected:
  NoPrepareScenarios() : ModuleFixture(GetParam()) {}
};

INSTANTIATE_TEST_SUITE_P(Isolations, NoPrepareScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NoPrepareScenarios, AClaimIsPreparedWithoutEdits) {
  modules_dir = built_modules();
  ASSERT_TRUE(start("libcardcage_mock_no_prepare.so", {{"devices", std::vector<std::string>{"gpu:1"}}}));
  EXPECT_TRUE(module->identity().no_prepare);
  const auto prepared = run(module->call(PrepareCall{claim("u1", {"gpu-0"})}, soon()));
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_TRUE(prepared->gives_nothing());
  EXPECT_TRUE(run(module->call(UnprepareCall{claim("u1", {"gpu-0"})}, soon())));
}

TEST_P(NoPrepareScenarios, EditsThatContainersMayMissAreRefused) {
  ASSERT_TRUE(start("needless_edits.so"));
  const auto prepared = run(module->call(PrepareCall{claim("u1")}, soon()));
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, Code::kInternal);
  EXPECT_THAT(prepared.error().message, testing::HasSubstr("CAGE_MODULE_NO_PREPARE"));
}

}  // namespace
}  // namespace cardcage
