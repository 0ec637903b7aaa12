// GPUs with few readings, such as GeForce, GB10 and GPUs in vGPU guests: missing readings are absent, and XIDs count
// all the same.
#include "tests/nvidia/health_fixture.h"

namespace cardcage {
namespace {

class NvidiaAbsentReadings : public NvidiaHealthFixture {};
INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaAbsentReadings, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaAbsentReadings, XidsAreWatchedWithoutThem) {
  for (const nvml::Return code : {nvml::kNotSupported, nvml::kInvalidArgument, nvml::kNoPermission}) {
    gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100"});
    for (const char* call :
         {"nvmlDeviceGetFieldValues", "nvmlDeviceGetSramEccErrorStatus", "nvmlDeviceGetCurrPcieLinkWidth",
          "nvmlDeviceGetCurrPcieLinkGeneration", "nvmlDeviceGetMarginTemperature", "nvmlDeviceGetTemperatureV",
          "nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureThreshold", "nvmlDeviceGetPowerUsage",
          "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons",
          "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetPcieReplayCounter", "nvmlDeviceGetNvLinkState",
          "nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetGpuFabricInfo"})
      gpus->fail(call, code, FakeGpus::kForever);
    ASSERT_TRUE(watch_again());
    for (const char* cause : {"Ecc", "RowRemap", "Pcie", "Temperature", "Power"}) {
      EXPECT_EQ(about(gpus->uuid(0), cause).state, HealthState::kHealthy) << cause << " " << code;
      EXPECT_FALSE(about(gpus->uuid(0), cause).value) << cause << " " << code;
    }
    const int before = rescans;
    pass_looks(3);
    EXPECT_EQ(gpus->calls("nvmlEventSetCreate"), 1u) << "watching is not interrupted";
    EXPECT_EQ(rescans, before);
    reports.clear();
    gpus->raise_xid(0, 119);
    pass_ticks(1);
    EXPECT_TRUE(has_stated(gpus->uuid(0), "Xid", "Xid119")) << code;
    gpus->reset(0);
    pass_looks(2);
    gpus->raise_xid(0, 120);
    pass_ticks(1);
    EXPECT_TRUE(has_stated(gpus->uuid(0), "Xid", "Xid120")) << code << ": with a new handle after the reset";
  }
}

TEST_P(NvidiaAbsentReadings, AFieldThatIsAbsentHidesNoOther) {
  ASSERT_TRUE(watch({.product = "h100"}));
  for (const unsigned id : {nvml::kFieldRecoveryAction, nvml::kFieldRemapPending, nvml::kFieldShutdownTlimit})
    gpus->set_field(0, id, 0, nvml::kNotSupported);
  gpus->set_ecc(0, nvml::kUncorrected, nvml::kVolatile, 3);
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "Ecc").value, 3);
}

TEST_P(NvidiaAbsentReadings, ADriverWithoutXidEventsLeavesThemToTheKernel) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100"});
  gpus->state()->gpus[0].supported_events = nvml::kEventMigConfigChange;
  ASSERT_TRUE(watch_again());
  EXPECT_EQ(about(gpus->uuid(0), "Events").state, HealthState::kUnmonitored);
  log(0, "119, pid=1234, name=python3, Timeout after 6s of waiting for RPC response");
  EXPECT_TRUE(has_stated(gpus->uuid(0), "Xid", "Xid119"));
}

}  // namespace
}  // namespace cardcage
