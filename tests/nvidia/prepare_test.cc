// The edits for containers with a GPU, the changes that a claim makes to the GPU, and their undoing at release.
#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;

const Options kDynamic{{"mig", std::string("dynamic")}};
constexpr const char* kPart = "gpu-0-mig-2g20gb-14-2";

std::vector<std::string> mounts_of(const Edits& edits) {
  std::vector<std::string> lines;
  for (const Mount& mount : edits.mounts) lines.push_back(mount.container_path);
  return lines;
}

class NvidiaPrepare : public NvidiaFixture {
 protected:
  bool is_mig_on() const { return gpus->state()->gpus[0].mig_mode == nvml::kEnabled; }
  // The number of programs that have the library open.
  long holders() const {
    const auto world = gpus->state();
    return std::ranges::count(world->clients, true, &fake_nvml::Client::used);
  }
  unsigned only_instance() const {
    const auto world = gpus->state();
    const auto& instances = world->gpus[0].instances;
    return static_cast<unsigned>(std::ranges::find(instances, true, &fake_nvml::Instance::used) - instances);
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaPrepare, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaPrepare, AContainerGetsNodesLibrariesAndPrograms) {
  ASSERT_TRUE(start_on({.product = "h100", .gpus = 2}));
  ModuleClaim wanted = claim_of("u1", {"gpu-1"});
  const auto edits = prepare(wanted);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(edits->claim.env, ElementsAre(EnvVar{"NVIDIA_VISIBLE_DEVICES", "void"}));
  EXPECT_THAT(nodes_of(edits->claim),
              IsSupersetOf({"c 195:255 /dev/nvidiactl", "c 509:0 /dev/nvidia-uvm", "c 509:1 /dev/nvidia-uvm-tools"}));
  EXPECT_THAT(nodes_of(edits->allocations[0]), ElementsAre("c 195:1 /dev/nvidia1"));
  EXPECT_THAT(mounts_of(edits->claim),
              IsSupersetOf({"/usr/lib64/libcuda.so.1", "/usr/lib64/libcuda.so", "/usr/lib64/libnvidia-ml.so.1",
                            "/usr/lib64/libnvidia-gpucomp.so.580.65.06", "/usr/bin/nvidia-smi",
                            "/lib/firmware/nvidia/580.65.06/gsp_ga10x.bin"}));
  EXPECT_THAT(mounts_of(edits->claim), Not(Contains(HasSubstr("libGLX")))) << "graphics was not requested";
  for (const Mount& mount : edits->claim.mounts) EXPECT_TRUE(std::filesystem::is_regular_file(mount.host_path));
  EXPECT_EQ(edits->state, "prepared\n") << "nothing was changed";
  EXPECT_TRUE(unprepare(wanted));
}

TEST_P(NvidiaPrepare, GraphicsComeIfTheOperatorWantsThem) {
  ASSERT_TRUE(start_on({.product = "l40s"}, {{"driver_capabilities", std::vector<std::string>{"all"}}}));
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  const auto edits = prepare(wanted);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(mounts_of(edits->claim), Contains(HasSubstr("libGLX_nvidia.so.0")));
  EXPECT_THAT(mounts_of(edits->claim), Contains(HasSubstr("nvidia_icd.json")));
  EXPECT_THAT(nodes_of(edits->allocations[0]), Contains(HasSubstr("/dev/dri/renderD")));
}

TEST_P(NvidiaPrepare, AnUnknownCapabilityIsAnErrorOfTheOption) {
  const Status started = start_on({}, {{"driver_capabilities", std::vector<std::string>{"grafics"}}});
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("'grafics' is not one of compute, utility"));
}

TEST_P(NvidiaPrepare, AGpuThatIsLostFailsThePrepareWithItsFault) {
  ASSERT_TRUE(start_on({.product = "h100"}));
  discover();
  gpus->lose(0);
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  const auto edits = prepare(wanted);
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message, AllOf(HasSubstr(gpus->bus_id(0)), HasSubstr("fallen off the bus")));
}

TEST_P(NvidiaPrepare, TimeSlicesAreSetAndTakenBack) {
  ASSERT_TRUE(start_on({.product = "h100"}));
  ModuleClaim wanted =
      claim_of("u1", {"gpu-0"}, R"("sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Long"}})");
  ASSERT_TRUE(prepare(wanted));
  EXPECT_THAT(gpus->smi_log(), HasSubstr("compute-policy -i " + gpus->uuid(0) + " --set-timeslice 3"));
  ASSERT_TRUE(unprepare(wanted));
  EXPECT_THAT(gpus->smi_log(), HasSubstr("compute-policy -i " + gpus->uuid(0) + " --set-timeslice 0"));
}

TEST_P(NvidiaPrepare, ATimeSliceThatCannotBeSetKeepsNoClaimFromItsRelease) {
  ASSERT_TRUE(start_on({.product = "h100"}));
  gpus->state()->gpus[0].compute_mode = nvml::kComputeExclusiveProcess;
  std::filesystem::remove(gpus->driver_root() / "usr/bin/nvidia-smi");
  ModuleClaim wanted =
      claim_of("u1", {"gpu-0"}, R"("sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Long"}})");
  const auto edits = prepare(wanted);
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message, HasSubstr("nvidia-smi"));
  EXPECT_EQ(gpus->state()->gpus[0].compute_mode, nvml::kComputeExclusiveProcess) << "the other changes were undone";
  EXPECT_TRUE(unprepare(wanted));
}

TEST_P(NvidiaPrepare, AClaimWaitsForADriverThatDoesNotMatch) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  ModuleClaim wanted = claim_of("u1", {kPart});
  ASSERT_TRUE(prepare(wanted));
  gpus->mismatch();
  ASSERT_TRUE(start_again(kDynamic));
  const Status waits = unprepare(wanted);
  ASSERT_FALSE(waits) << "the instance still exists";
  EXPECT_EQ(waits.error().code, Code::kUnavailable);
  gpus->upgrade_driver("580.65.06");
  EXPECT_TRUE(unprepare(wanted));
}

TEST_P(NvidiaPrepare, APartitionIsMadeAndRemoved) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  ModuleClaim wanted = claim_of("u1", {kPart});
  const auto edits = prepare(wanted);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(wanted.journal, HasSubstr("partition " + gpus->bus_id(0) + " 14 2\n")) << "before the hardware";
  EXPECT_THAT(nodes_of(edits->allocations[0]),
              ElementsAre("c 195:0 /dev/nvidia0", HasSubstr("c 235:"), HasSubstr("/dev/nvidia-caps/nvidia-cap")));
  EXPECT_EQ(gpus->calls("nvmlDeviceCreateGpuInstanceWithPlacement"), 1);
  EXPECT_TRUE(unprepare(wanted));
  EXPECT_EQ(gpus->calls("nvmlGpuInstanceDestroy"), 1);
  EXPECT_FALSE(is_mig_on()) << "it was off before";
}

TEST_P(NvidiaPrepare, TheSamePartitionIsFoundAgain) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  ModuleClaim wanted = claim_of("u1", {kPart});
  const auto first = prepare(wanted);
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(start_again(kDynamic));
  const auto second = prepare(wanted);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(gpus->calls("nvmlDeviceCreateGpuInstanceWithPlacement"), 1);
  EXPECT_TRUE(unprepare(wanted));
  EXPECT_FALSE(is_mig_on());
}

TEST_P(NvidiaPrepare, PartitionsOfTwoClaimsShareAGpu) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  ModuleClaim one = claim_of("u1", {"gpu-0-mig-1g10gb-19-0"}), other = claim_of("u2", {"gpu-0-mig-3g40gb-9-4"});
  ASSERT_TRUE(prepare(one));
  ASSERT_TRUE(prepare(other));
  ASSERT_TRUE(unprepare(one));
  EXPECT_TRUE(is_mig_on()) << "the other claim needs it";
  ASSERT_TRUE(unprepare(other));
  EXPECT_FALSE(is_mig_on()) << "even if another program turned it on";
}

TEST_P(NvidiaPrepare, AWholeGpuIsNotInMigMode) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  gpus->set_mig_mode(0, true);  // another program left MIG mode on
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  ASSERT_TRUE(prepare(wanted));
  EXPECT_FALSE(is_mig_on());
  ASSERT_TRUE(unprepare(wanted));
  gpus->set_mig_mode(0, true);
  gpus->create_instance(0, 19, 0);
  ModuleClaim other = claim_of("u2", {"gpu-0"});
  const auto edits = prepare(other);
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message, HasSubstr("is in MIG mode and cannot be used as a whole"));
}

TEST_P(NvidiaPrepare, APlaceThatIsTakenFailsAndLeavesNothing) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  gpus->set_mig_mode(0, true);
  gpus->create_instance(0, 9, 0);  // the slices 0 to 3
  ModuleClaim wanted = claim_of("u1", {"gpu-0-mig-1g10gb-19-6", kPart});
  const auto edits = prepare(wanted);
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message,
              AllOf(HasSubstr("MIG instance 2g.20gb at memory slice 2"), HasSubstr("NVML code 23")));
  EXPECT_EQ(gpus->calls("nvmlGpuInstanceDestroy"), 1) << "the instance at slice 6";
}

TEST_P(NvidiaPrepare, AFailureAfterEachStepLeavesNothing) {
  for (const char* step : {"nvmlDeviceSetMigMode", "nvmlDeviceCreateGpuInstanceWithPlacement",
                           "nvmlGpuInstanceCreateComputeInstance", "nvmlComputeInstanceGetInfo_v2"}) {
    ASSERT_TRUE(start_on({.product = "h100"}, kDynamic)) << step;
    ModuleClaim wanted = claim_of("u1", {kPart});
    gpus->fail(step, nvml::kUnknown, 1);
    const auto failed = prepare(wanted);
    ASSERT_FALSE(failed) << step;
    EXPECT_THAT(failed.error().message, HasSubstr("NVML code 999")) << step;
    EXPECT_FALSE(is_mig_on()) << step;
    EXPECT_TRUE(prepare(wanted)) << step;
    EXPECT_TRUE(unprepare(wanted)) << step;
  }
}

TEST_P(NvidiaPrepare, APartitionInUseIsReleasedOnceItsProcessHasEnded) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  ModuleClaim wanted = claim_of("u1", {kPart});
  ASSERT_TRUE(prepare(wanted));
  gpus->add_process(0, 4711, 1 << 20, only_instance(), 0);
  const Status busy = unprepare(wanted);
  ASSERT_FALSE(busy);
  EXPECT_THAT(busy.error().message, HasSubstr("NVML code 19"));
  gpus->remove_process(0, 4711);
  EXPECT_TRUE(unprepare(wanted));
}

TEST_P(NvidiaPrepare, ReleasesAClaimWithoutDriverAndOfALostGpu) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  ModuleClaim wanted = claim_of("u1", {kPart});
  ASSERT_TRUE(prepare(wanted));
  gpus->lose(0);
  EXPECT_TRUE(unprepare(wanted)) << "its instances go with the reset";
  gpus->unload_driver();
  EXPECT_TRUE(unprepare(wanted));
}

TEST_P(NvidiaPrepare, ReconcileRemovesInstancesThatNoClaimHolds) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  gpus->set_mig_mode(0, true);
  gpus->create_instance(0, 19, 6);
  ModuleClaim wanted = claim_of("u1", {kPart});
  ASSERT_TRUE(prepare(wanted));
  ASSERT_TRUE(run(module->call(ReconcileCall{{wanted}}, soon())));
  EXPECT_EQ(gpus->calls("nvmlGpuInstanceDestroy"), 1);
  const auto again = prepare(wanted);
  EXPECT_TRUE(again) << "the instance was kept";
  EXPECT_EQ(gpus->calls("nvmlDeviceCreateGpuInstanceWithPlacement"), 1);
}

TEST_P(NvidiaPrepare, AnAmpereThatNeedsAResetSaysSo) {
  ASSERT_TRUE(start_on({.product = "a100"}, kDynamic));
  gpus->set_mig_mode(0, true);
  gpus->reset(0);
  ModuleClaim wanted = claim_of("u1", {"gpu-0-mig-1g5gb-19-0"});
  gpus->set_mig_mode(0, false);
  gpus->reset(0);
  const auto edits = prepare(wanted);
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message, HasSubstr("turning it on needs a reset"));
}

TEST_P(NvidiaPrepare, AFailureIsReportedAndNotThatOfItsUndoing) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  ModuleClaim wanted = claim_of("u1", {kPart});
  gpus->fail("nvmlGpuInstanceCreateComputeInstance", nvml::kInsufficientResources, 1);
  gpus->fail("nvmlGpuInstanceDestroy", nvml::kInUse, 1);
  const auto failed = prepare(wanted);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("NVML code 23"));
  EXPECT_TRUE(unprepare(wanted)) << "the journal knows the instance";
  EXPECT_EQ(gpus->calls("nvmlGpuInstanceDestroy"), 2);
}

TEST_P(NvidiaPrepare, AnInstanceInUseKeepsNoOtherFromBeingRemoved) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  gpus->set_mig_mode(0, true);
  const unsigned used = gpus->create_instance(0, 19, 0);
  gpus->add_process(0, 4711, 1 << 20, used, 0);
  gpus->create_instance(0, 19, 1);
  ASSERT_TRUE(run(module->call(ReconcileCall{{}}, soon())));
  EXPECT_EQ(only_instance(), used);
}

TEST_P(NvidiaPrepare, WhileQuiescedAClaimThatChangedAGpuWaits) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  ModuleClaim changed = claim_of("u1", {kPart}), unchanged = claim_of("u2", {"gpu-0"});
  ASSERT_TRUE(prepare(changed));
  ASSERT_TRUE(run(module->call(QuiesceCall{}, soon())));
  EXPECT_TRUE(unprepare(unchanged));
  EXPECT_EQ(unprepare(changed).error().code, Code::kUnavailable);
  EXPECT_EQ(holders(), 0);
  ASSERT_TRUE(run(module->call(ResumeCall{}, soon())));
  EXPECT_TRUE(unprepare(changed));
}

TEST_P(NvidiaPrepare, WhileQuiescedItHoldsNoGpuAndPreparesNothing) {
  ASSERT_TRUE(start_on({.product = "h100"}));
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  ASSERT_TRUE(run(module->call(QuiesceCall{}, soon())));
  EXPECT_EQ(holders(), 0);
  EXPECT_FALSE(prepare(wanted));
  EXPECT_THAT(names(), ElementsAre("gpu-0"));
  ASSERT_TRUE(run(module->call(ResumeCall{}, soon())));
  EXPECT_TRUE(prepare(wanted));
}

}  // namespace
}  // namespace cardcage
