// Checks, resets and declared causes, in both isolations.
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

class HealthScenarios : public ScenarioFixture {};

INSTANTIATE_TEST_SUITE_P(Isolation, HealthScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(HealthScenarios, OneCallChecksManyDevicesAndAFailureStopsNone) {
  modules_dir = built_modules();
  ASSERT_TRUE(start("libcardcage_mock.so", {{"script", std::vector<std::string>{"remove gpu-1"}}}));
  ASSERT_TRUE(eventually([&] {
    clock.advance(std::chrono::milliseconds(10));
    return rescans == 1;
  }));
  const auto checked = run(module->call(CheckCall{{"gpu-0", "gpu-1", "gpu-2"}}, soon()));
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(*checked, 3u);
  EXPECT_TRUE(eventually([&] {
    clock.advance(std::chrono::milliseconds(10));
    return reports.size() == 2;
  }));
  EXPECT_THAT(reports, ::testing::UnorderedElementsAre(Pair("gpu-0", ::testing::_), Pair("gpu-2", ::testing::_)));
  EXPECT_EQ(run(module->call(CheckCall{{}}, soon())).value_or(9), 0u);
}

TEST_P(HealthScenarios, ASweepOfChecksEndsBeforeItsDeadline) {
  modules_dir = built_modules();
  ASSERT_TRUE(start("libcardcage_mock.so", {{"script", std::vector<std::string>{"delay check 400ms", "rescan"}}}));
  ASSERT_TRUE(eventually([&] { return rescans == 1; })) << "the delay is set";
  const auto checked = run(module->call(CheckCall{{"gpu-0", "gpu-1", "gpu-2", "gpu-3"}}, clock.now() + seconds(1)));
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_GE(*checked, 1u);
  EXPECT_LE(*checked, 2u) << "a third one would not fit";
}

TEST_P(HealthScenarios, AResetStatesItsCausesAnew) {
  ASSERT_TRUE(start_scripted({}));
  EXPECT_TRUE(module->identity().has(Family::kReset));
  EXPECT_TRUE(run(module->call(ResetCall{"dev-0"}, soon())));
  EXPECT_TRUE(eventually([&] {
    clock.advance(std::chrono::milliseconds(10));
    return !reports.empty();
  }));
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports[0].second.cause, "Ecc");
  ASSERT_TRUE(start_scripted({"reset=explain"}));
  EXPECT_EQ(
      run(module->call(ResetCall{"dev-0"}, soon())).error(),
      (Error{Code::kFailedPrecondition, "module 'm' cannot reset: the card in slot 3 is too hot\nopen a window"}));
}

TEST_P(HealthScenarios, AResetThatNeverReturnsLosesTheInstance) {
  ASSERT_TRUE(start_scripted({"reset=hang"}));
  const auto reset = begin(module->call(ResetCall{"dev-0"}, clock.now() + seconds(2)));
  ASSERT_TRUE(is_hanging());
  advance(seconds(2));
  ASSERT_TRUE(*reset);
  EXPECT_EQ((*reset)->error(), (Error{Code::kDeadlineExceeded, "module 'm' cannot reset: it did not answer in time"}));
  advance(seconds(5));
  ASSERT_TRUE(lost);
  EXPECT_THAT(lost->message, HasSubstr("stuck in reset"));
}

TEST_P(HealthScenarios, TheMockDeclaresCausesAndStatesThemWithValues) {
  modules_dir = built_modules();
  const std::vector<std::string> script = {"health gpu-0 degraded cause=Temperature value=96.5 Hot too hot"};
  ASSERT_TRUE(
      start("libcardcage_mock.so", {{"script", script}, {"partitions", std::int64_t{2}}, {"partitions_only", true}}));
  const auto& causes = module->identity().causes;
  ASSERT_THAT(causes, SizeIs(8));
  EXPECT_EQ(causes[0].name, "Temperature");
  EXPECT_EQ(causes[0].limit, (ValueLimit{ValueLimit::Side::kAbove, 95, 90}));
  ASSERT_TRUE(eventually([&] {
    clock.advance(std::chrono::milliseconds(10));
    return !reports.empty();
  }));
  EXPECT_EQ(reports[0].first, "gpu-0") << "the id of a parent that is not listed";
  EXPECT_EQ(reports[0].second.state, HealthState::kDegraded);
  EXPECT_EQ(reports[0].second.value, 96.5);
  const auto snapshot = run(module->call(DiscoverCall{}, soon()));
  EXPECT_EQ((*snapshot)->find("gpu-0"), nullptr);
  EXPECT_TRUE((*snapshot)->not_offered.contains("gpu-0"));
  EXPECT_EQ((*snapshot)->find("gpu-0-part-1")->parent_id, "gpu-0");
}

}  // namespace
}  // namespace cardcage
