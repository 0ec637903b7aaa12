// Changes of the MIG mode: never in a virtual machine, and only if the change takes effect at once.
#include "tests/nvidia/loaded_fake.h"
#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NvidiaMigMode : public NvidiaFixture {
 protected:
  static constexpr const char* kPart = "gpu-0-mig-2g20gb-14-2";
  inline static const Options kDynamic{{"mig", std::string("dynamic")}};

  // Starts on a GPU in a virtual machine.
  Status start_in(nvml::VirtualizationMode machine, bool mig, const Options& options = kDynamic) {
    gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100"});
    if (mig) gpus->set_mig_mode(0, true);
    if (mig && machine == nvml::kVgpuGuest) gpus->create_instance(0, 19, 6);
    gpus->state()->gpus[0].virtualization = machine;
    return start_again(options);
  }
  unsigned mode() const { return gpus->state()->gpus[0].mig_mode; }
  unsigned pending() const { return gpus->state()->gpus[0].mig_pending; }
};
INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaMigMode, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

// The numbers of nvmlGpuVirtualizationMode_t: 1 passthrough, 2 a guest's vGPU.
TEST(FakeVirtualizationTest, TheModeWaitsForARestartOrIsTheHosts) {
  LoadedFake fake{{.product = "h100"}};
  unsigned machine = 99, current = 99, pending = 99;
  ASSERT_EQ(fake.call.nvmlDeviceGetVirtualizationMode(fake.device(), &machine), 0);
  EXPECT_EQ(machine, 0u);
  fake.gpus.state()->gpus[0].virtualization = nvml::VirtualizationMode{1};
  ASSERT_EQ(fake.call.nvmlDeviceGetVirtualizationMode(fake.device(), &machine), 0);
  EXPECT_EQ(machine, 1u);
  nvml::Return activation = nvml::kUnknown;
  ASSERT_EQ(fake.call.nvmlDeviceSetMigMode(fake.device(), 1, &activation), 0) << "the request is stored";
  EXPECT_EQ(activation, 16) << "reset required";
  ASSERT_EQ(fake.call.nvmlDeviceGetMigMode(fake.device(), &current, &pending), 0);
  EXPECT_EQ(current, 0u);
  EXPECT_EQ(pending, 1u);
  fake.gpus.state()->gpus[0].virtualization = nvml::VirtualizationMode{2};
  EXPECT_EQ(fake.call.nvmlDeviceSetMigMode(fake.device(), 0, &activation), 3) << "not supported";
}

TEST_P(NvidiaMigMode, AVirtualMachineOffersWhatItsModeAllows) {
  ASSERT_TRUE(start_in(nvml::kPassthrough, false));
  EXPECT_THAT(names(), ElementsAre("gpu-0"));
  ModuleClaim whole = claim_of("u1", {"gpu-0"});
  ASSERT_TRUE(prepare(whole));
  EXPECT_TRUE(unprepare(whole));
  ASSERT_TRUE(start_in(nvml::kPassthrough, true));
  EXPECT_THAT(names(), Each(HasSubstr("gpu-0-mig-")));
  ModuleClaim part = claim_of("u2", {kPart});
  ASSERT_TRUE(prepare(part));
  EXPECT_TRUE(unprepare(part));
  EXPECT_EQ(gpus->calls("nvmlDeviceSetMigMode"), 0u);
  EXPECT_EQ(mode(), nvml::kEnabled);
  EXPECT_EQ(pending(), nvml::kEnabled);
}

TEST_P(NvidiaMigMode, APassedThroughGpuThatLeavesTheModeIsNotSwitched) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  ModuleClaim wanted = claim_of("u1", {kPart});
  gpus->state()->gpus[0].virtualization = nvml::kPassthrough;
  discover();
  const auto edits = prepare(wanted);
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message, HasSubstr("turning it on needs a restart of the machine"));
  EXPECT_EQ(gpus->calls("nvmlDeviceSetMigMode"), 0u);
}

TEST_P(NvidiaMigMode, AVgpuHasTheInstancesOfItsHost) {
  ASSERT_TRUE(start_in(nvml::kVgpuGuest, true));
  EXPECT_THAT(names(), ElementsAre("gpu-0-mig-1g10gb-19-6"));
  ASSERT_TRUE(run(module->call(ReconcileCall{{}}, soon())));
  EXPECT_EQ(gpus->calls("nvmlGpuInstanceDestroy"), 0u);
  ModuleClaim wanted = claim_of("u1", {"gpu-0-mig-1g10gb-19-6"});
  ASSERT_TRUE(prepare(wanted));
  EXPECT_TRUE(unprepare(wanted));
  EXPECT_EQ(gpus->calls("nvmlGpuInstanceDestroy"), 0u);
  EXPECT_EQ(gpus->calls("nvmlDeviceSetMigMode"), 0u);
}

TEST_P(NvidiaMigMode, ADisableThatDoesNotTakeEffectIsAnErrorAndUndone) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  ModuleClaim wanted = claim_of("u1", {kPart});
  ASSERT_TRUE(prepare(wanted));
  gpus->add_process(0, 4711, 1 << 20);  // a program that has the GPU open, but no instance
  const Status released = unprepare(wanted);
  ASSERT_FALSE(released);
  EXPECT_THAT(released.error().message, HasSubstr("turning off the MIG mode of GPU 0000:3b:00.0, which another"));
  EXPECT_EQ(mode(), nvml::kEnabled);
  EXPECT_EQ(pending(), nvml::kEnabled) << "the next reset keeps MIG mode";
  gpus->remove_process(0, 4711);
  EXPECT_TRUE(unprepare(wanted));
  EXPECT_EQ(mode(), nvml::kDisabled);
}

TEST_P(NvidiaMigMode, AModeThatAnotherProgramHasAskedForStaysPending) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  gpus->add_process(0, 4711, 1 << 20);
  gpus->state()->gpus[0].mig_pending = nvml::kEnabled;
  ModuleClaim wanted = claim_of("u1", {kPart});
  EXPECT_FALSE(prepare(wanted));
  EXPECT_EQ(pending(), nvml::kEnabled);
  gpus->state()->gpus[0].mig_pending = nvml::kDisabled;
  EXPECT_FALSE(prepare(wanted));
  EXPECT_EQ(pending(), nvml::kDisabled);
}

}  // namespace
}  // namespace cardcage
