// Quiescing a module, and one device of it [R12], in both isolations.
#include <fstream>

#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

class QuiesceScenarios : public ScenarioFixture {
 protected:
  QuiesceScenarios() { modules_dir = built_modules(); }
};
INSTANTIATE_TEST_SUITE_P(Isolation, QuiesceScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(QuiesceScenarios, OneDeviceLeavesTheOthersInService) {
  ASSERT_TRUE(start("libcardcage_mock.so", {{"devices", std::vector<std::string>{"gpu:2"}}, {"partitions", 2}}));
  EXPECT_TRUE(module->identity().has(Family::kQuiesce));
  ASSERT_TRUE(run(module->call(PrepareCall{claim("before", {"gpu-0"})}, soon())));
  ASSERT_TRUE(run(module->call(QuiesceDeviceCall{"gpu-0"}, soon())));
  EXPECT_TRUE(run(module->call(QuiesceDeviceCall{"gpu-0"}, soon()))) << "it may be repeated";
  for (const std::string device : {"gpu-0", "gpu-0-part-0"}) {
    const auto refused = run(module->call(PrepareCall{claim("c", {device})}, soon()));
    ASSERT_FALSE(refused) << device;
    EXPECT_EQ(refused.error().code, Code::kUnavailable);
    EXPECT_THAT(refused.error().message, HasSubstr("quiesced"));
  }
  EXPECT_TRUE(run(module->call(PrepareCall{claim("other", {"gpu-1"})}, soon())));
  EXPECT_TRUE(run(module->call(UnprepareCall{claim("before", {"gpu-0"})}, soon())));
  ASSERT_TRUE(run(module->call(ResumeDeviceCall{"gpu-0"}, soon())));
  EXPECT_TRUE(run(module->call(PrepareCall{claim("after", {"gpu-0"})}, soon())));
}

TEST_P(QuiesceScenarios, AModuleThatCannotReleaseADeviceSaysWhy) {
  const auto script = folder / "script";
  ASSERT_TRUE(start("libcardcage_mock.so", {{"script_file", script.native()}}));
  std::ofstream(script) << "fail quiesce gpu-0 a process uses it\n" << std::flush;
  Status refused;
  ASSERT_TRUE(eventually([&] { return !(refused = run(module->call(QuiesceDeviceCall{"gpu-0"}, soon()))); }));
  EXPECT_THAT(refused.error().message, HasSubstr("cannot quiesce a device: device 'gpu-0': a process uses it"));
  EXPECT_TRUE(run(module->call(ResumeDeviceCall{"gone"}, soon())));
}

TEST_P(QuiesceScenarios, WithoutTheFamilyItFailsAtOnce) {
  modules_dir = test_modules();
  ASSERT_TRUE(start_scripted({}));
  const auto refused = run(module->call(QuiesceDeviceCall{"dev-0"}, soon()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_THAT(refused.error().message, HasSubstr("it has no cage.quiesce/1"));
}

}  // namespace
}  // namespace cardcage
