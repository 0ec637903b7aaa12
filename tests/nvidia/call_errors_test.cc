// A failed call of NVML says nothing about the hardware: only NOT_SUPPORTED and NOT_FOUND mean that the object does not
// exist.
#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NvidiaCallErrors : public NvidiaFixture {
 protected:
  static constexpr const char* kPart = "gpu-0-mig-2g20gb-14-2";
  inline static const Options kDynamic{{"mig", std::string("dynamic")}};

  bool has_instance() const {
    const auto world = gpus->state();
    return std::ranges::any_of(world->gpus[0].instances, &fake_nvml::Instance::used);
  }
  bool is_mig_on() const { return gpus->state()->gpus[0].mig_mode == nvml::kEnabled; }
};
INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaCallErrors, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaCallErrors, AnInstanceThatCannotBeListedIsNotReleased) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  for (const char* call : {"nvmlDeviceGetMigMode", "nvmlDeviceGetGpuInstances", "nvmlGpuInstanceGetInfo",
                           "nvmlGpuInstanceGetComputeInstanceProfileInfo", "nvmlGpuInstanceGetComputeInstances"}) {
    for (const nvml::Return code : {nvml::kNoPermission, nvml::kGpuIsLost, nvml::kUnknown}) {
      if (call == std::string("nvmlDeviceGetMigMode") && code == nvml::kGpuIsLost) continue;  // as for a lost GPU
      ModuleClaim wanted = claim_of("u1", {kPart});
      ASSERT_TRUE(prepare(wanted));
      gpus->fail(call, code, FakeGpus::kForever);
      const Status released = unprepare(wanted);
      EXPECT_FALSE(released) << call << " " << code;
      EXPECT_TRUE(has_instance()) << call << " " << code;
      EXPECT_TRUE(is_mig_on()) << call << " " << code;
      gpus->fail(call, nvml::kSuccess, 0);
      EXPECT_TRUE(unprepare(wanted)) << call << " " << code;
      EXPECT_FALSE(has_instance()) << call << " " << code;
    }
  }
}

TEST_P(NvidiaCallErrors, AGpuThatMayNotBeOpenedKeepsItsClaim) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  ModuleClaim wanted = claim_of("u1", {kPart});
  ASSERT_TRUE(prepare(wanted));
  gpus->deny(0);
  EXPECT_FALSE(unprepare(wanted));
  gpus->deny(0, false);
  EXPECT_TRUE(unprepare(wanted));
  EXPECT_FALSE(has_instance());
}

TEST_P(NvidiaCallErrors, MigModeStaysWhileInstancesCannotBeListed) {
  ASSERT_TRUE(start_on({.product = "h100"}, kDynamic));
  gpus->set_mig_mode(0, true);
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  gpus->fail("nvmlDeviceGetGpuInstances", nvml::kNoPermission, FakeGpus::kForever);
  EXPECT_FALSE(prepare(wanted));
  EXPECT_EQ(gpus->calls("nvmlDeviceSetMigMode"), 0u);
  gpus->fail("nvmlDeviceGetGpuInstances", nvml::kSuccess, 0);
  EXPECT_TRUE(prepare(wanted));
}

TEST_P(NvidiaCallErrors, NoDeviceGoesBecauseACallFails) {
  for (const bool dynamic : {false, true}) {
    gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100"});
    gpus->set_mig_mode(0, true);
    gpus->create_instance(0, 19, 0);
    ASSERT_TRUE(start_again(dynamic ? kDynamic : Options{}));
    const auto all = names();
    for (const char* call :
         {"nvmlDeviceGetMigMode", "nvmlDeviceGetCudaComputeCapability", "nvmlDeviceGetGpuInstanceProfileInfoV",
          "nvmlDeviceGetGpuInstancePossiblePlacements_v2", "nvmlDeviceGetGpuInstances", "nvmlGpuInstanceGetInfo",
          "nvmlGpuInstanceGetComputeInstanceProfileInfo", "nvmlGpuInstanceGetComputeInstances",
          "nvmlComputeInstanceGetInfo_v2"}) {
      for (const nvml::Return code : {nvml::kNoPermission, nvml::kGpuIsLost}) {
        gpus->fail(call, code, FakeGpus::kForever);
        ASSERT_EQ(names(), all) << call << " " << code;
        EXPECT_EQ(discover()->devices.front().health.state, HealthState::kUnhealthy) << call << " " << code;
        gpus->fail(call, nvml::kSuccess, 0);
        EXPECT_EQ(discover()->devices.front().health.state, HealthState::kHealthy) << call << " " << code;
      }
    }
  }
}

TEST_P(NvidiaCallErrors, WhatDoesNotExistIsNone) {
  ASSERT_TRUE(start_on({.product = "h100"}));
  for (const nvml::Return code : {nvml::kNotSupported, nvml::kNotFound}) {
    gpus->fail("nvmlDeviceGetMigMode", code, FakeGpus::kForever);
    EXPECT_THAT(names(), ElementsAre("gpu-0")) << code;
    EXPECT_EQ(device("gpu-0").health.state, HealthState::kHealthy) << code;
  }
  gpus->fail("nvmlDeviceGetMigMode", nvml::kSuccess, 0);
  gpus->set_mig_mode(0, true);
  gpus->fail("nvmlDeviceGetGpuInstances", nvml::kNotSupported, FakeGpus::kForever);
  EXPECT_THAT(names(), IsEmpty());
}

// nvmlDeviceGetGpuInstancePossiblePlacements needs privileges that a worker may lack.
TEST_P(NvidiaCallErrors, AGpuThatIsNotDividedNeedsNoProfiles) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100"});
  gpus->fail("nvmlDeviceGetGpuInstancePossiblePlacements_v2", nvml::kNoPermission, FakeGpus::kForever);
  ASSERT_TRUE(start_again());
  EXPECT_EQ(device("gpu-0").health.state, HealthState::kHealthy);
}

TEST_P(NvidiaCallErrors, WhoWaitsForProcessesDoesNotTakeAnErrorForNone) {
  for (const char* policy : {"wait", "end"}) {
    ASSERT_TRUE(start_on({.product = "h100"}, {{"leftover_processes", std::string(policy)}}));
    ModuleClaim wanted = claim_of("u1", {"gpu-0"});
    gpus->fail("nvmlDeviceGetComputeRunningProcesses_v3", nvml::kNoPermission, FakeGpus::kForever);
    EXPECT_FALSE(prepare(wanted)) << policy;
    gpus->fail("nvmlDeviceGetComputeRunningProcesses_v3", nvml::kSuccess, 0);
    ASSERT_TRUE(prepare(wanted)) << policy;
    gpus->fail("nvmlDeviceGetComputeRunningProcesses_v3", nvml::kNoPermission, FakeGpus::kForever);
    const Status released = unprepare(wanted);
    ASSERT_FALSE(released) << policy;
    EXPECT_THAT(released.error().message, HasSubstr("listing the processes on a GPU")) << policy;
    gpus->deny(0);
    gpus->fail("nvmlDeviceGetComputeRunningProcesses_v3", nvml::kSuccess, 0);
    EXPECT_FALSE(unprepare(wanted)) << policy << ": the processes cannot be listed";
    gpus->deny(0, false);
    EXPECT_TRUE(unprepare(wanted)) << policy;
  }
}

TEST_P(NvidiaCallErrors, PersistenceThatCannotBeReadIsNotTakenForOff) {
  ASSERT_TRUE(start_on({.product = "h100"}, {{"reset_after_use", true}}));
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  ASSERT_TRUE(prepare(wanted));
  gpus->fail("nvmlDeviceGetPersistenceMode", nvml::kNoPermission, FakeGpus::kForever);
  const Status released = unprepare(wanted);
  ASSERT_FALSE(released);
  EXPECT_THAT(released.error().message, HasSubstr("reading the persistence mode"));
  gpus->fail("nvmlDeviceGetPersistenceMode", nvml::kSuccess, 0);
  EXPECT_TRUE(unprepare(wanted));
}

}  // namespace
}  // namespace cardcage
