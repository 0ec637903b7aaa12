// Faults of GPUs: each is stated as a cause of the affected device while it is seen, and its end is stated, too.
#include <set>

#include "tests/nvidia/health_fixture.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class NvidiaHealth : public NvidiaHealthFixture {};
INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaHealth, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaHealth, TheCausesAreDeclared) {
  ASSERT_TRUE(watch({.product = "h100"}));
  std::map<std::string, CauseDeclaration> declared;
  for (const CauseDeclaration& one : module->identity().causes) declared[one.name] = one;
  EXPECT_THAT(declared, SizeIs(std::size(nvidia::kDeclaredCauses)));
  EXPECT_LE(declared.size(), kMaxCauses) << "one device can have all of them";
  EXPECT_EQ(declared.at("Xid").relapses, 3u);
  EXPECT_EQ(declared.at("AppXid").severity, HealthState::kHealthy);
  EXPECT_EQ(declared.at("Temperature").unit, "Cel");
  EXPECT_EQ(declared.at("PcieErrors").recovery, Recovery::kSilence);
  EXPECT_EQ(declared.at("NvLink").taint.key, "gpu.nvidia.com/nvlink");
}

TEST_P(NvidiaHealth, AfterAStartEachCauseOfAWellGpuIsStated) {
  ASSERT_TRUE(watch({.product = "h100"}));
  std::set<std::string> causes;
  for (const auto& [id, health] : reports) {
    EXPECT_EQ(id, gpus->uuid(0));
    EXPECT_EQ(health.state, HealthState::kHealthy) << health.cause;
    causes.insert(health.cause);
  }
  EXPECT_THAT(causes, ElementsAre("Ecc", "Events", "Fabric", "NvLink", "Pcie", "PcieErrors", "Power", "RecoveryAction",
                                  "RetiredPages", "RowRemap", "Temperature", "Xid"));
  reports.clear();
  pass_looks(2);
  EXPECT_THAT(reports, IsEmpty()) << "nothing has changed";
}

TEST_P(NvidiaHealth, ValuesAreStatedAgainWhenTheyChange) {
  ASSERT_TRUE(watch({.product = "h100"}));
  gpus->set_temperature(0, 61);
  gpus->state()->gpus[0].power_mw = 400'000;
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "Temperature").value, 61);
  EXPECT_EQ(about(gpus->uuid(0), "Power").value, 400);
  EXPECT_EQ(about(gpus->uuid(0), "Pcie").value, 16);
  EXPECT_EQ(about(gpus->uuid(0), "Ecc").value, 0);
  reports.clear();
  gpus->state()->gpus[0].power_mw = 400'900;
  pass_looks(1);
  EXPECT_THAT(reports, IsEmpty()) << "less than a unit";
  gpus->state()->gpus[0].power_mw = 401'000;
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "Power").value, 401);
}

TEST_P(NvidiaHealth, WhatIsNotWellIsStatedAtEachLook) {
  ASSERT_TRUE(watch({.product = "h100"}));
  gpus->set_ecc(0, nvml::kUncorrected, nvml::kVolatile, 2);
  gpus->raise_xid(0, 95);
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "Ecc").value, 2);
  reports.clear();
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "Ecc").state, HealthState::kUnhealthy) << "an operator may have cleared it";
}

TEST_P(NvidiaHealth, AnXidHealsOnceTheDriverAsksForNothing) {
  ASSERT_TRUE(watch({.product = "h100", .gpus = 2}));
  gpus->set_recovery_action(1, nvml::kActionReset);
  gpus->raise_xid(1, 119);
  pass_looks(1);
  const Health bad = about(gpus->uuid(1), "Xid");
  EXPECT_EQ(bad.state, HealthState::kUnhealthy);
  EXPECT_EQ(bad.reason, "Xid119");
  EXPECT_THAT(bad.message, HasSubstr("nvidia-smi --gpu-reset"));
  EXPECT_EQ(bad.taint_key, "gpu.nvidia.com/xid");
  EXPECT_EQ(bad.taint_value, "119");
  EXPECT_EQ(about(gpus->uuid(1), "RecoveryAction").state, HealthState::kUnhealthy);
  EXPECT_EQ(about(gpus->uuid(0), "Xid").state, HealthState::kHealthy);
  pass_looks(4);
  EXPECT_EQ(about(gpus->uuid(1), "Xid").state, HealthState::kUnhealthy) << "time alone does not heal it";
  gpus->set_recovery_action(1, nvml::kActionNone);
  pass_looks(4);
  EXPECT_EQ(about(gpus->uuid(1), "Xid").state, HealthState::kHealthy);
  EXPECT_EQ(about(gpus->uuid(1), "RecoveryAction").state, HealthState::kHealthy);
}

TEST_P(NvidiaHealth, ErrorsThatDoNotConcernTheGpuHaveACauseOfTheirOwn) {
  ASSERT_TRUE(watch({.product = "h100"}));
  reports.clear();
  for (const unsigned xid : {13U, 31U, 63U, 74U, 94U}) {
    gpus->raise_xid(0, xid);
    pass_ticks(1);
    EXPECT_TRUE(eventually([&] { return about(gpus->uuid(0), "AppXid").reason == fmt::format("Xid{}", xid); })) << xid;
  }
  for (const unsigned follower : {43U, 45U, 154U}) gpus->raise_xid(0, follower);
  pass_looks(1);
  for (const auto& [id, health] : reports) {
    EXPECT_EQ(health.cause, "AppXid");
    EXPECT_EQ(health.state, HealthState::kDegraded);
  }
  const Health last = about(gpus->uuid(0), "AppXid");
  EXPECT_EQ(last.taint_key, "gpu.nvidia.com/xid") << "for operators who give it a rule";
  EXPECT_EQ(last.taint_value, "94") << "an XID that only follows another is not stated";
}

TEST_P(NvidiaHealth, AStormOfErrorsIsStatedOnceInASecond) {
  ASSERT_TRUE(watch({.product = "h100", .gpus = 2}));
  reports.clear();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 500; ++i) {
    gpus->raise_xid(0, 31);
    if (i % 50 == 49) pass_ticks(1);
  }
  gpus->raise_xid(1, 31);
  pass_ticks(1);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began);
  const auto of_first = std::ranges::count_if(reports, [&](const auto& one) { return one.first == gpus->uuid(0); });
  EXPECT_GE(of_first, 1);
  EXPECT_LE(of_first, 1 + seconds.count());
  EXPECT_EQ(about(gpus->uuid(1), "AppXid").reason, "Xid31") << "on another GPU";
}

TEST_P(NvidiaHealth, AnXidOfAMigInstanceConcernsOnlyThatOne) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100"});
  gpus->set_mig_mode(0, true);
  const unsigned one = gpus->create_instance(0, 14, 0), other = gpus->create_instance(0, 14, 2);
  ASSERT_TRUE(watch_again());
  gpus->raise_xid(0, 110, other, 0);
  pass_looks(1);
  EXPECT_EQ(about(gpus->mig_uuid(0, other), "Xid").state, HealthState::kUnhealthy);
  EXPECT_EQ(about(gpus->mig_uuid(0, one), "Xid").state, HealthState::kHealthy);
  gpus->raise_xid(0, 119);
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "Xid").reason, "Xid119") << "the host marks the partitions of the GPU";
  EXPECT_EQ(about(gpus->mig_uuid(0, one), "Xid").state, HealthState::kHealthy);
  gpus->raise_xid(0, 31, one, 0);
  pass_looks(1);
  EXPECT_EQ(about(gpus->mig_uuid(0, one), "AppXid").reason, "Xid31");
}

TEST_P(NvidiaHealth, FaultsOfTheHardwareAreStatedAboutTheGpuAlone) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100"});
  gpus->set_mig_mode(0, true);
  gpus->create_instance(0, 14, 0);
  ASSERT_TRUE(watch_again());
  EXPECT_EQ(discover()->devices.front().parent_id, gpus->uuid(0));
  reports.clear();
  gpus->set_ecc(0, nvml::kUncorrected, nvml::kVolatile, 1);
  gpus->set_recovery_action(0, nvml::kActionReset);
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "Ecc").reason, "UncorrectableErrors");
  for (const auto& [id, health] : reports) EXPECT_EQ(id, gpus->uuid(0)) << health.cause;
}

TEST_P(NvidiaHealth, TheSiblingForVirtualMachinesHasTheFaultsOfItsGpu) {
  ASSERT_TRUE(watch({.product = "h100"}, {{"passthrough", true}}));
  gpus->set_ecc(0, nvml::kUncorrected, nvml::kVolatile, 1);
  gpus->set_recovery_action(0, nvml::kActionReset);
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "Ecc").reason, "UncorrectableErrors");
  EXPECT_EQ(about(device("gpu-vfio-0").id, "Ecc").reason, "UncorrectableErrors");
}

TEST_P(NvidiaHealth, MemoryThatFailsIsBadAndMemoryThatIsRepairedOnlyMarked) {
  ASSERT_TRUE(watch({.product = "h100"}));
  gpus->set_ecc(0, nvml::kUncorrected, nvml::kVolatile, 2);
  gpus->set_remapped_rows(0, {.correctableActive = 0,
                              .correctableInactive = 0,
                              .uncorrectableActive = 1,
                              .uncorrectableInactive = 0,
                              .pending = 1,
                              .failure = 0});
  pass_looks(1);
  EXPECT_THAT(about(gpus->uuid(0), "Ecc").message, HasSubstr("2 uncorrectable memory errors"));
  const Health pending = about(gpus->uuid(0), "RowRemap");
  EXPECT_EQ(pending.state, HealthState::kDegraded);
  EXPECT_EQ(pending.taint, TaintEffect::kInform);
  EXPECT_EQ(pending.taint_key, "gpu.nvidia.com/row-remap");
  EXPECT_EQ(pending.reason, "RemapPending");
  gpus->reset(0);  // old handles are dead: the first look fails, the next one has new ones
  pass_looks(2);
  EXPECT_EQ(about(gpus->uuid(0), "Ecc").state, HealthState::kHealthy);
}

TEST_P(NvidiaHealth, ANarrowLinkIsStatedAsItIsSeen) {
  ASSERT_TRUE(watch({.product = "l40s"}));
  gpus->set_link_width(0, 8);
  pass_looks(1);
  const Health narrow = about(gpus->uuid(0), "Pcie");
  EXPECT_EQ(narrow.state, HealthState::kDegraded);
  EXPECT_EQ(narrow.value, 8);
  EXPECT_THAT(narrow.message, HasSubstr("8 of the 16 lanes"));
  gpus->set_link_width(0, 16);
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "Pcie").state, HealthState::kHealthy);
}

TEST_P(NvidiaHealth, AGpuThatSlowsDownIsStated) {
  ASSERT_TRUE(watch({.product = "h100"}));
  gpus->set_temperature(0, 90);
  gpus->state()->gpus[0].clock_reasons |= nvml::kReasonHwPowerBrake;
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "Temperature").reason, "Hot");
  EXPECT_EQ(about(gpus->uuid(0), "Temperature").value, 90);
  EXPECT_EQ(about(gpus->uuid(0), "Power").reason, "PowerBrake");
  gpus->set_temperature(0, 50);
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "Temperature").state, HealthState::kHealthy);
}

TEST_P(NvidiaHealth, ALostGpuIsNoticedAndItsReturnToo) {
  ASSERT_TRUE(watch({.product = "h100", .gpus = 2}));
  const int before = rescans;
  gpus->lose(1);
  pass_looks(1);
  EXPECT_TRUE(eventually([&] { return rescans > before; }));
  EXPECT_EQ(device("gpu-1").health.reason, "GpuLost");
  EXPECT_EQ(device("gpu-0").health.state, HealthState::kHealthy);
  const int lost_at = rescans;
  pass_looks(1);
  EXPECT_EQ(rescans, lost_at) << "the loss is already known";
  gpus->restore(1);
  pass_looks(1);
  EXPECT_TRUE(eventually([&] { return rescans > lost_at; }));
  EXPECT_EQ(device("gpu-1").health.state, HealthState::kHealthy);
}

TEST_P(NvidiaHealth, ADriverThatGoesAndComesIsNoticed) {
  ASSERT_TRUE(watch({.product = "h100", .gpus = 2}));
  const int before = rescans;
  gpus->unload_driver();
  pass_looks(1);
  EXPECT_TRUE(eventually([&] { return rescans > before; }));
  EXPECT_EQ(device("gpu-1").health.reason, "DriverFault");
  const int away = rescans;
  gpus->load_driver();
  pass_looks(1);
  EXPECT_TRUE(eventually([&] { return rescans > away; }));
  EXPECT_EQ(device("gpu-1").health.state, HealthState::kHealthy);
  gpus->raise_xid(1, 119);
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(1), "Xid").state, HealthState::kHealthy) << "it was raised before the module listened";
  gpus->raise_xid(1, 119);
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(1), "Xid").reason, "Xid119");
}

TEST_P(NvidiaHealth, AnNvLinkThatGoesDownIsNoticed) {
  ASSERT_TRUE(watch({.product = "h100", .gpus = 2}));
  gpus->set_nvlink(0, 0, 1);
  gpus->set_nvlink(0, 1, 1);
  pass_looks(1);
  const Health all_up = about(gpus->uuid(0), "NvLink");
  EXPECT_EQ(all_up.state, HealthState::kHealthy);
  gpus->cut_nvlink(0, 1);
  pass_looks(1);
  const Health down = about(gpus->uuid(0), "NvLink");
  EXPECT_EQ(down.state, HealthState::kDegraded) << "a single GPU works";
  EXPECT_EQ(down.value, all_up.value.value_or(0) - 1);
  EXPECT_THAT(down.message, AllOf(StartsWith("1 of "), HasSubstr(" NVLinks are down")));
  EXPECT_EQ(down.taint_key, "gpu.nvidia.com/nvlink");
  gpus->set_nvlink(0, 1, 1);
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "NvLink").reason, "");
}

TEST_P(NvidiaHealth, AFabricThatIsNotWellIsNoticed) {
  ASSERT_TRUE(watch({.product = "h100"}));
  const auto problem = [&] {
    pass_looks(1);
    return about(gpus->uuid(0), "Fabric").message;
  };
  gpus->set_fabric(0, nvml::kFabricInProgress);
  EXPECT_EQ(problem(), "the GPU has not joined its NVLink fabric");
  gpus->set_fabric(0, nvml::kFabricCompleted, nvml::kInsufficientResources);
  EXPECT_THAT(problem(), HasSubstr("joining the NVLink fabric failed: Insufficient Resources"));
  // Degraded bandwidth: true; route unhealthy: true; the others false.
  gpus->set_fabric(0, nvml::kFabricCompleted, nvml::kSuccess, 1, 0x1 | 0x2 << 2 | 0x1 << 4 | 0x2 << 6 | 0x1 << 8, 2);
  EXPECT_EQ(problem(), "the bandwidth is degraded, a route is unhealthy");
  gpus->set_fabric(0, nvml::kFabricCompleted, nvml::kSuccess, 1, 0x2 | 0x2 << 2 | 0x2 << 4 | 0x2 << 6 | 0x1 << 8, 1);
  EXPECT_EQ(problem(), "");
}

TEST_P(NvidiaHealth, ASlowPcieLinkCountsWhileTheGpuWorks) {
  ASSERT_TRUE(watch({.product = "h100"}));
  const auto set = [&](unsigned utilization, unsigned generation) {
    const auto world = gpus->state();
    world->gpus[0].gpu_percent = utilization;
    world->gpus[0].pcie_generation = generation;
  };
  set(0, 1);
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "Pcie").reason, "") << "an idle link sleeps";
  set(90, 3);
  pass_looks(1);
  EXPECT_THAT(about(gpus->uuid(0), "Pcie").message,
              HasSubstr("the PCIe link works as generation 3, and has worked as 5"));
}

TEST_P(NvidiaHealth, ReplaysAreStatedAsARate) {
  ASSERT_TRUE(watch({.product = "h100"}));
  EXPECT_EQ(about(gpus->uuid(0), "PcieErrors").value, 0);
  gpus->state()->gpus[0].pcie_replays += 5;
  pass_looks(1);
  const Health many = about(gpus->uuid(0), "PcieErrors");
  EXPECT_EQ(many.state, HealthState::kDegraded);
  EXPECT_EQ(many.message, "30000 PCIe packets were sent again in a minute") << "5 in ten ticks of one millisecond";
  EXPECT_EQ(many.value, 30'000);
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "PcieErrors").value, 0) << "the host keeps track of the time";
}

TEST_P(NvidiaHealth, TheKernelTellsWhatNvmlDoesNot) {
  ASSERT_TRUE(watch({.product = "h100", .gpus = 2}));
  const auto is_faulty = [&](int gpu) {
    return eventually([&] { return about(gpus->uuid(gpu), "Xid").reason == "Xid79"; });
  };
  log(1, "79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.");
  EXPECT_TRUE(is_faulty(1));
  log(0, "79, pid=1234, name=python3", " GPU-I:07 GPU-CI:00");
  EXPECT_TRUE(is_faulty(0)) << "there is no such instance, so the GPU is faulty";
}

TEST_P(NvidiaHealth, TheKernelDoesNotRepeatWhatNvmlTells) {
  ASSERT_TRUE(watch({.product = "h100"}));
  log(0, "119, pid=1234, name=python3, Timeout after 6s of waiting for RPC response");
  log(0, "no number");
  EXPECT_EQ(about(gpus->uuid(0), "Xid").state, HealthState::kHealthy) << "NVML reports it, with its instance";
}

TEST_P(NvidiaHealth, AnotherDriverIsNoticedWithoutAnEvent) {
  ASSERT_TRUE(watch({.product = "h100"}));
  for (const char* version : {"580.126.20", "580.65.06"}) {
    rescans = 0;
    gpus->upgrade_driver(version);
    pass_looks(1);
    EXPECT_TRUE(eventually([&] { return rescans > 0; })) << version;
    const auto attributes = attributes_of(device("gpu-0"));
    EXPECT_THAT(attributes, Contains(HasSubstr(version == std::string("580.126.20") ? "580.126.20" : "580.65.6")));
  }
}

TEST_P(NvidiaHealth, GpusThatComeAfterTheKernelModuleAreLookedFor) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100"});
  const std::filesystem::path libraries = gpus->library().parent_path(), away = folder / "away";
  std::filesystem::rename(libraries, away);  // a driver container that has not mounted its files yet
  ASSERT_TRUE(watch_again());
  EXPECT_THAT(names(), IsEmpty());
  std::filesystem::rename(away, libraries);
  rescans = 0;
  pass_looks(1);
  EXPECT_TRUE(eventually([&] { return rescans > 0; }));
  EXPECT_THAT(names(), ElementsAre("gpu-0"));
  pass_looks(1);
  rescans = 0;
  pass_looks(2);
  EXPECT_EQ(rescans, 0) << "the driver is there";
}

TEST_P(NvidiaHealth, AFaultIsStatedAgainOfADeviceThatWasAway) {
  ASSERT_TRUE(watch({.product = "h100"}));
  nvml::RemappedRows2 rows{};
  rows.failure = 1;
  gpus->set_remapped_rows(0, rows);
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "RowRemap").reason, "RemapFailed");
  gpus->set_mig_mode(0, true);
  EXPECT_THAT(names(), IsEmpty()) << "a GPU in MIG mode is not a device";
  gpus->set_mig_mode(0, false);
  gpus->set_remapped_rows(0, rows);
  EXPECT_THAT(names(), ElementsAre("gpu-0"));
  reports.clear();  // the host has forgotten it, too
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "RowRemap").reason, "RemapFailed");
}

TEST_P(NvidiaHealth, AnOlderDriverHealsAfterAQuarantine) {
  ASSERT_TRUE(watch({.product = "a100", .driver = "550.54.15"}));
  gpus->raise_xid(0, 119);
  pass_looks(50);
  EXPECT_EQ(about(gpus->uuid(0), "Xid").state, HealthState::kUnhealthy);
  pass_looks(15);
  EXPECT_EQ(about(gpus->uuid(0), "Xid").state, HealthState::kHealthy);
}

TEST_P(NvidiaHealth, InstancesThatSomebodyMakesAreDiscovered) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100"});
  gpus->set_mig_mode(0, true);
  ASSERT_TRUE(watch_again());
  const int before = rescans;
  gpus->create_instance(0, 19, 0);
  gpus->raise_event(0, nvml::kEventMigConfigChange, 0);
  pass_looks(1);
  EXPECT_TRUE(eventually([&] { return rescans > before; }));
  EXPECT_THAT(names(), ElementsAre("gpu-0-mig-1g10gb-19-0"));
}

}  // namespace
}  // namespace cardcage
