// Faults of GPUs: each is stated as a cause of the devices that it concerns, and its end as well.
#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class NvidiaHealth : public NvidiaFixture {
 protected:
  Status watch(const FakeNode& node, Options options = {}) {
    gpus = std::make_unique<FakeGpus>(folder / "node", node);
    return watch_again(std::move(options));
  }
  Status watch_again(Options options = {}) {
    options.emplace("health_interval", std::string("1ms"));
    if (auto started = start_again(options); !started) return started;
    discover();
    pass_looks(3);  // after a start the module waits before it calls a GPU well
    return {};
  }
  // A message of the kernel about the GPU, or about an instance of it.
  void log(int gpu, const std::string& rest, const std::string& instance = "") {
    Event event;
    event.text = fmt::format("NVRM: Xid (PCI:{}{}): {}", gpus->bus_id(gpu).substr(0, 10), instance, rest);
    EXPECT_TRUE(run(module->deliver_events({.events = {event}}, soon())));
  }
  // The last statement about the cause of a device.
  Health about(const std::string& id, const std::string& cause) {
    Health last;
    EXPECT_TRUE(eventually([&] {
      let_news_pass();
      const auto is_it = [&](const auto& one) { return one.first == id && one.second.cause == cause; };
      const auto found = std::find_if(reports.rbegin(), reports.rend(), is_it);
      if (found == reports.rend()) return false;
      last = found->second;
      return true;
    })) << "nothing about "
        << cause << " of " << id;
    return last;
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaHealth, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaHealth, AfterAStartEachCauseOfAWellGpuIsStatedOnce) {
  ASSERT_TRUE(watch({.product = "h100"}));
  std::vector<std::string> causes;
  for (const auto& [id, health] : reports) {
    EXPECT_EQ(id, gpus->uuid(0));
    EXPECT_EQ(health.state, HealthState::kHealthy) << health.cause;
    causes.push_back(health.cause);
  }
  EXPECT_THAT(causes, UnorderedElementsAre("Events", "RecoveryAction", "Ecc", "RowRemap", "RetiredPages", "Pcie",
                                           "PcieErrors", "NvLink", "Fabric", "Thermal", "Power", "Xid"));
  reports.clear();
  pass_looks(2);
  EXPECT_THAT(reports, IsEmpty()) << "nothing has changed";
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
  EXPECT_EQ(about(gpus->uuid(1), "Xid").state, HealthState::kUnhealthy) << "time alone heals nothing";
  gpus->set_recovery_action(1, nvml::kActionNone);
  pass_looks(4);
  EXPECT_EQ(about(gpus->uuid(1), "Xid").state, HealthState::kHealthy);
  EXPECT_EQ(about(gpus->uuid(1), "RecoveryAction").state, HealthState::kHealthy);
}

TEST_P(NvidiaHealth, ErrorsOfApplicationsDoNotConcernTheGpu) {
  ASSERT_TRUE(watch({.product = "h100"}));
  reports.clear();
  for (const unsigned xid : {13U, 31U, 43U, 45U, 94U, 154U}) gpus->raise_xid(0, xid);
  pass_looks(1);
  EXPECT_THAT(reports, IsEmpty());
}

TEST_P(NvidiaHealth, AnXidOfAMigInstanceConcernsOnlyThatOne) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100"});
  gpus->set_mig_mode(0, true);
  const unsigned one = gpus->create_instance(0, 14, 0), other = gpus->create_instance(0, 14, 2);
  ASSERT_TRUE(watch_again());
  gpus->raise_xid(0, 109, other, 0);
  pass_looks(1);
  EXPECT_EQ(about(gpus->mig_uuid(0, other), "Xid").state, HealthState::kUnhealthy);
  EXPECT_EQ(about(gpus->mig_uuid(0, one), "Xid").state, HealthState::kHealthy);
  gpus->raise_xid(0, 119);
  pass_looks(1);
  EXPECT_EQ(about(gpus->mig_uuid(0, one), "Xid").reason, "Xid119") << "an error of the whole GPU";
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
  EXPECT_EQ(pending.state, HealthState::kHealthy);
  EXPECT_EQ(pending.taint, TaintEffect::kInform);
  EXPECT_EQ(pending.reason, "RemapPending");
  gpus->reset(0);  // handles from before are dead: the first look fails, the next one has new ones
  pass_looks(2);
  EXPECT_EQ(about(gpus->uuid(0), "Ecc").state, HealthState::kHealthy);
}

TEST_P(NvidiaHealth, ANarrowLinkCountsOnlyIfItStays) {
  ASSERT_TRUE(watch({.product = "l40s"}));
  gpus->set_link_width(0, 8);
  pass_looks(5);
  EXPECT_EQ(about(gpus->uuid(0), "Pcie").taint, TaintEffect::kNone);
  pass_looks(26);
  EXPECT_THAT(about(gpus->uuid(0), "Pcie").message, HasSubstr("8 of 16 lanes"));
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
  EXPECT_EQ(rescans, lost_at) << "it is known";
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
  pass_looks(4);
  EXPECT_EQ(about(gpus->uuid(0), "NvLink").reason, "");
  gpus->cut_nvlink(0, 1);
  pass_looks(4);
  const Health down = about(gpus->uuid(0), "NvLink");
  EXPECT_EQ(down.state, HealthState::kHealthy) << "the GPU alone works";
  EXPECT_THAT(down.message, AllOf(StartsWith("1 of "), HasSubstr(" NVLinks are down")));
  EXPECT_EQ(down.taint_key, "gpu.nvidia.com/nvlink");
  gpus->set_nvlink(0, 1, 1);
  pass_looks(4);
  EXPECT_EQ(about(gpus->uuid(0), "NvLink").reason, "");
}

TEST_P(NvidiaHealth, AFabricThatIsNotWellIsNoticed) {
  ASSERT_TRUE(watch({.product = "h100"}));
  const auto problem = [&] {
    pass_looks(7);
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
  pass_looks(31);
  EXPECT_EQ(about(gpus->uuid(0), "Pcie").reason, "") << "an idle link sleeps";
  set(90, 3);
  pass_looks(31);
  EXPECT_THAT(about(gpus->uuid(0), "Pcie").message, HasSubstr("the PCIe link works as generation 3 of 5"));
}

TEST_P(NvidiaHealth, ReplaysCountIfTheyGoOn) {
  ASSERT_TRUE(watch({.product = "h100"}));
  const auto replay = [&](int looks) {
    for (int i = 0; i < looks; ++i) {
      gpus->state()->gpus[0].pcie_replays += 5;
      pass_looks(1);
    }
  };
  replay(3);
  EXPECT_EQ(about(gpus->uuid(0), "PcieErrors").reason, "") << "they may be over";
  replay(5);
  EXPECT_EQ(about(gpus->uuid(0), "PcieErrors").message, "5 PCIe packets were sent again since the last look");
}

TEST_P(NvidiaHealth, TheKernelTellsWhatNvmlDoesNot) {
  ASSERT_TRUE(watch({.product = "h100", .gpus = 2}));
  const auto is_faulty = [&](int gpu) {
    return eventually([&] { return about(gpus->uuid(gpu), "Xid").reason == "Xid79"; });
  };
  log(1, "79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.");
  EXPECT_TRUE(is_faulty(1));
  log(0, "79, pid=1234, name=python3", " GPU-I:07 GPU-CI:00");
  EXPECT_TRUE(is_faulty(0)) << "it has no such instance, so it is the GPU's";
}

TEST_P(NvidiaHealth, TheKernelDoesNotRepeatWhatNvmlTells) {
  ASSERT_TRUE(watch({.product = "h100"}));
  log(0, "119, pid=1234, name=python3, Timeout after 6s of waiting for RPC response");
  log(0, "no number");
  EXPECT_EQ(about(gpus->uuid(0), "Xid").state, HealthState::kHealthy) << "NVML tells of it, and whose it is";
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
  EXPECT_EQ(rescans, 0) << "it is there";
}

TEST_P(NvidiaHealth, AFaultIsStatedAgainOfADeviceThatWasAway) {
  ASSERT_TRUE(watch({.product = "h100"}));
  nvml::RemappedRows2 rows{};
  rows.failure = 1;
  gpus->set_remapped_rows(0, rows);
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "RowRemap").reason, "RemapFailed");
  gpus->set_mig_mode(0, true);
  EXPECT_THAT(names(), IsEmpty()) << "a GPU in MIG mode is no device";
  gpus->set_mig_mode(0, false);
  gpus->set_remapped_rows(0, rows);
  EXPECT_THAT(names(), ElementsAre("gpu-0"));
  reports.clear();  // as the host has forgotten it
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
