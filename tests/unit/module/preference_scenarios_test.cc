// The calls for the device-plugin API: the devices that a module prefers, and its actions before a container starts.
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PreferenceScenarios : public ScenarioFixture {
 protected:
  std::string refusal(const std::string& behaviour) {
    EXPECT_TRUE(start_scripted({behaviour}));
    const auto chosen = run(module->call(ChooseCall{{"a", "b", "c"}, {}, 2}, soon()));
    return chosen ? "was taken" : chosen.error().message;
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, PreferenceScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(PreferenceScenarios, TheModuleChoosesAmongTheAvailableDevices) {
  ASSERT_TRUE(start_scripted({}));
  const auto chosen = run(module->call(ChooseCall{{"a", "b", "c"}, {"a"}, 2}, soon()));
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_THAT(*chosen, ElementsAre("a", "c"));
  EXPECT_THAT(run(module->call(ChooseCall{{"a"}, {}, 0}, soon())).value(), IsEmpty());
}

TEST_P(PreferenceScenarios, ADeviceThatIsNotAvailableSpoilsTheChoice) {
  EXPECT_EQ(refusal("choose=stranger"),
            "module 'm' cannot choose: its choice is invalid: device 'dev-9' is not available");
}

TEST_P(PreferenceScenarios, ADeviceChosenTwiceSpoilsTheChoice) {
  EXPECT_EQ(refusal("choose=twice"), "module 'm' cannot choose: its choice is invalid: device 'c' is chosen twice");
}

TEST_P(PreferenceScenarios, MoreDevicesThanWantedSpoilTheChoice) {
  EXPECT_EQ(refusal("choose=more"), "module 'm' cannot choose: its choice is invalid: more than 2 devices are chosen");
}

TEST_P(PreferenceScenarios, AnInvalidIdSpoilsTheChoice) {
  EXPECT_EQ(refusal("choose=nothing"),
            "module 'm' cannot choose: its choice is invalid: device id '' is not 1 to 253 printable ASCII characters "
            "without spaces");
}

TEST_P(PreferenceScenarios, AFailedChoiceCarriesTheModulesExplanation) {
  EXPECT_EQ(refusal("choose=explain"), "module 'm' cannot choose: the card in slot 3 is too hot\nopen a window");
}

TEST_P(PreferenceScenarios, AChoiceAfterASpoiltOneSucceedsAndAKeptSinkIsRefused) {
  ASSERT_TRUE(start_scripted({"check=late-sink", "check=stranger"}));
  EXPECT_FALSE(run(module->call(ChooseCall{{"a", "a"}, {"b"}, 1}, soon())));
  EXPECT_TRUE(run(module->call(CheckCall{{"dev-0"}}, soon())));
  EXPECT_THAT(run(module->call(ChooseCall{{"x", "y"}, {}, 1}, soon())).value(), ElementsAre("y"));
}

TEST_P(PreferenceScenarios, AChoiceAmongTenThousandDevicesWorks) {
  ASSERT_TRUE(start_scripted({}));
  std::vector<std::string> all;
  for (int i = 0; i < 10'000; ++i) all.push_back(fmt::format("dev-{}", i));
  EXPECT_EQ(run(module->call(ChooseCall{all, {}, all.size()}, soon())).value().size(), all.size());
}

TEST_P(PreferenceScenarios, AChoiceFailsAtItsDeadline) {
  ASSERT_TRUE(start_scripted({"choose=patient"}));
  const auto chosen = begin(module->call(ChooseCall{{"a"}, {}, 1}, clock.now() + seconds(2)));
  EXPECT_FALSE(*chosen);
  advance(seconds(2));
  ASSERT_TRUE(*chosen);
  EXPECT_EQ((*chosen)->error(),
            (Error{Code::kDeadlineExceeded, "module 'm' cannot choose: it did not answer in time"}));
}

TEST_P(PreferenceScenarios, PreStartGetsTheClaimWithItsState) {
  ASSERT_TRUE(start_scripted({"pre_start=tell"}));
  ModuleClaim device = claim("u1");
  device.ref.name_space = device.ref.name = "";
  device.state = "saved";
  EXPECT_EQ(run(module->call(PreStartCall{device}, soon())).error(),
            (Error{Code::kAborted, "module 'm' cannot pre_start: dev-0 of u1, names '', state saved, params 0"}));
}

TEST_P(PreferenceScenarios, PreStartMayBeRepeated) {
  ASSERT_TRUE(start_scripted({}));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(run(module->call(PreStartCall{claim("u1")}, soon())));
}

TEST_P(PreferenceScenarios, PreStartFailsAtItsDeadline) {
  ASSERT_TRUE(start_scripted({"pre_start=hang"}));
  const auto ready = begin(module->call(PreStartCall{claim("u1")}, clock.now() + seconds(25)));
  ASSERT_TRUE(is_hanging());
  advance(seconds(25));
  ASSERT_TRUE(*ready);
  EXPECT_EQ((*ready)->error(),
            (Error{Code::kDeadlineExceeded, "module 'm' cannot pre_start: it did not answer in time"}));
}

}  // namespace
}  // namespace cardcage
