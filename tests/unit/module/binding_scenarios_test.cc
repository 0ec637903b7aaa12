// Binding conditions of devices, and the calls that make them true, in both isolations.
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Strings = std::vector<std::string>;

constexpr const char *kAttached = "mock.cardcage.dev/Attached", *kFailed = "mock.cardcage.dev/AttachFailed";

class BindingScenarios : public ScenarioFixture {
 protected:
  BindingScenarios() { modules_dir = built_modules(); }
  Status start_mock(const Options& more) {
    Options options{{"devices", Strings{"gpu:2", "nic:1"}}, {"binding", Strings{"gpu"}}};
    options.insert(more.begin(), more.end());
    return start("libcardcage_mock.so", options);
  }
  BindProgress bound(const ModuleClaim& claim) {
    const auto progress = run(module->call(BindCall{claim}, soon()));
    EXPECT_TRUE(progress) << progress.error().message;
    return progress.value_or(BindProgress());
  }
  static std::vector<DeviceCondition> conditions(DeviceCondition::Status attached, const char* reason,
                                                 const char* message = "") {
    return {{kAttached, attached, reason, message, {}}, {kFailed, DeviceCondition::Status::kFalse, "NoFault", "", {}}};
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, BindingScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(BindingScenarios, DevicesArriveWithTheirConditions) {
  ASSERT_TRUE(start_mock({{"binds_to_node", true}}));
  EXPECT_TRUE(module->identity().has(Family::kBind));
  const auto snapshot = run(module->call(DiscoverCall{}, soon()));
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  ASSERT_THAT((*snapshot)->devices, SizeIs(3));
  EXPECT_EQ((*snapshot)->find("gpu-0")->binding, (Binding{{kAttached}, {kFailed}, true}));
  EXPECT_TRUE((*snapshot)->find("nic-0")->binding.empty());
}

TEST_P(BindingScenarios, ADeviceBecomesReadyAndIsPrepared) {
  ASSERT_TRUE(start_mock({{"bind_time", "0s"}}));
  const ModuleClaim mixed = claim("u1", {"nic-0", "gpu-1"});
  EXPECT_THAT(bound(mixed), ElementsAre(IsEmpty(), conditions(DeviceCondition::Status::kTrue, "Attached")));
  const auto prepared = run(module->call(PrepareCall{mixed}, soon()));
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(prepared->allocations.at(1).env, ::testing::Contains(EnvVar{"MOCK_GPU_1_BOUND", "1"}));
  EXPECT_TRUE(run(module->call(UnprepareCall{mixed}, soon())));
}

TEST_P(BindingScenarios, ADeviceThatIsBeingAttachedIsHeldUntilItsRelease) {
  ASSERT_TRUE(start_mock({{"bind_time", "1h"}}));
  const ModuleClaim first = claim("u1", {"gpu-0"}), second = claim("u2", {"gpu-0"});
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(bound(first),
                ElementsAre(conditions(DeviceCondition::Status::kFalse, "Attaching", "the fabric is at work")));
  EXPECT_THAT(run(module->call(BindCall{second}, soon())).error().message, HasSubstr("is in use by claim u1"));
  EXPECT_TRUE(run(module->call(UnprepareCall{first}, soon())));
  EXPECT_THAT(bound(second), SizeIs(1));
}

TEST_P(BindingScenarios, AModuleWithoutTheFamilyIsNotCalled) {
  modules_dir = test_modules();
  ASSERT_TRUE(start_scripted({}));
  EXPECT_FALSE(module->identity().has(Family::kBind));
  EXPECT_EQ(run(module->call(BindCall{claim("u1")}, soon())).error(),
            (Error{Code::kUnimplemented, "module 'm' cannot bind: it has no cage.bind/1"}));
}

}  // namespace
}  // namespace cardcage
