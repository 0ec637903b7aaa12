// The progress of a long call, in both isolations.
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

class ProgressScenarios : public ScenarioFixture {
 protected:
  ProgressScenarios() { modules_dir = built_modules(); }
};
INSTANTIATE_TEST_SUITE_P(Isolation, ProgressScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(ProgressScenarios, TheOwnerOfTheClaimHearsOfIt) {
  ASSERT_TRUE(start("libcardcage_mock.so", {{"prepare_delay", "2s"}}));
  const auto prepared = begin(module->call(PrepareCall{claim("u1", {"gpu-0"})}, soon()));
  ASSERT_TRUE(eventually([&] { return module->progress("u1").has_value(); }));
  EXPECT_EQ(module->progress("u1")->text, "waiting as told");
  EXPECT_LE(module->progress("u1")->percent.value(), 100u);
  EXPECT_TRUE(module->busy()->progress);
  EXPECT_FALSE(module->progress("u2"));
  ASSERT_TRUE(eventually([&] { return prepared->has_value(); }));
  EXPECT_TRUE(**prepared) << (**prepared).error().message;
  EXPECT_FALSE(module->progress("u1")) << "it has ended";
}

TEST_P(ProgressScenarios, ACallThatDoesNotTellHasNone) {
  ASSERT_TRUE(start("libcardcage_mock.so", {{"discover_delay", "300ms"}}));
  const auto discovered = begin(module->call(DiscoverCall{}, soon()));
  EXPECT_FALSE(module->busy()->progress);
  ASSERT_TRUE(eventually([&] { return discovered->has_value(); }));
}

}  // namespace
}  // namespace cardcage
