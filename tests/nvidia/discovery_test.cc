// The module's report about a node: names, attributes and capacities are those of NVIDIA's DRA driver.
#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class NvidiaDiscovery : public NvidiaFixture {};
INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaDiscovery, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaDiscovery, AGpuHasTheAttributesOfTheDraDriver) {
  ASSERT_TRUE(start_on({.product = "h100"}));
  const Device gpu = device("gpu-0");
  EXPECT_EQ(gpu.id, gpus->uuid(0));
  EXPECT_EQ(gpu.kind, "gpu");
  EXPECT_EQ(gpu.pci_bus_id, gpus->bus_id(0));
  EXPECT_THAT(
      attributes_of(gpu),
      UnorderedElementsAre("type=gpu", "uuid=" + gpus->uuid(0), "productName=NVIDIA H100 80GB HBM3", "brand=Nvidia",
                           "architecture=Hopper", "cudaComputeCapability=version 9.0.0",
                           "driverVersion=version 580.65.6", "cudaDriverVersion=version 13.0.0", "addressingMode=HMM",
                           "nvidia.cardcage.dev/serial=1651023000001", "nvidia.cardcage.dev/moduleID=7"));
  EXPECT_THAT(amounts_of(gpu.capacity), ElementsAre("memory=81559Mi"));
  EXPECT_EQ(gpu.health.state, HealthState::kHealthy);
}

TEST_P(NvidiaDiscovery, ACompleteFabricIsAClique) {
  ASSERT_TRUE(start_on({.product = "h100"}));
  EXPECT_THAT(attributes_of(device("gpu-0")), Not(Contains(HasSubstr("clique")))) << "its cluster has no UUID";
  gpus->set_fabric(0, nvml::kFabricCompleted, nvml::kSuccess, 7);
  std::ranges::fill(gpus->state()->gpus[0].fabric.clusterUuid, static_cast<unsigned char>(0xab));
  EXPECT_THAT(attributes_of(device("gpu-0")),
              Contains("nvidia.cardcage.dev/clique=abababab-abab-abab-abab-abababababab.7"));
  gpus->set_fabric(0, nvml::kFabricInProgress);
  EXPECT_THAT(attributes_of(device("gpu-0")), Not(Contains(HasSubstr("clique"))));
}

TEST_P(NvidiaDiscovery, NamesAreThoseOfTheDeviceNodes) {
  ASSERT_TRUE(start_on({.product = "t4", .gpus = 3}));
  EXPECT_THAT(names(), ElementsAre("gpu-0", "gpu-1", "gpu-2"));
}

TEST_P(NvidiaDiscovery, AGpuThatIsLostStaysAndHidesNoOther) {
  ASSERT_TRUE(start_on({.product = "h100", .gpus = 3}));
  discover();
  gpus->lose(1);
  const Device lost_gpu = device("gpu-1");
  EXPECT_EQ(lost_gpu.health.state, HealthState::kUnhealthy);
  EXPECT_EQ(lost_gpu.health.reason, "GpuLost");
  EXPECT_THAT(lost_gpu.health.message, HasSubstr("fallen off the bus"));
  EXPECT_THAT(attributes_of(lost_gpu), Contains("productName=NVIDIA H100 80GB HBM3")) << "as before";
  EXPECT_EQ(device("gpu-0").health.state, HealthState::kHealthy);
  EXPECT_EQ(device("gpu-2").health.state, HealthState::kHealthy);
  gpus->restore(1);
  EXPECT_EQ(device("gpu-1").health.state, HealthState::kHealthy);
}

TEST_P(NvidiaDiscovery, AGpuThatWasLostBeforeTheStartIsKnownFromTheKernel) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100", .gpus = 2});
  gpus->lose(0);
  ASSERT_TRUE(start_again());
  EXPECT_THAT(names(), ElementsAre("gpu-0", "gpu-1"));
  EXPECT_EQ(device("gpu-0").id, gpus->uuid(0));
  EXPECT_EQ(device("gpu-0").health.state, HealthState::kUnhealthy);
}

TEST_P(NvidiaDiscovery, ANodeWithoutADriverHasNoDevices) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{});
  gpus->unload_driver();
  ASSERT_TRUE(start_again());
  EXPECT_THAT(names(), IsEmpty());
  gpus->load_driver();
  EXPECT_THAT(names(), ElementsAre("gpu-0"));
}

TEST_P(NvidiaDiscovery, GpusStayWhileTheDriverIsAway) {
  ASSERT_TRUE(start_on({.product = "h100", .gpus = 2}));
  discover();
  gpus->unload_driver();
  EXPECT_THAT(names(), ElementsAre("gpu-0", "gpu-1"));
  EXPECT_EQ(device("gpu-0").health.state, HealthState::kUnhealthy);
  EXPECT_EQ(device("gpu-0").health.reason, "DriverFault");
  gpus->load_driver();
  EXPECT_EQ(device("gpu-0").health.state, HealthState::kHealthy);
}

TEST_P(NvidiaDiscovery, AnUpgradedDriverIsOpenedAnew) {
  ASSERT_TRUE(start_on({.product = "h100"}));
  discover();
  gpus->upgrade_driver("580.126.20");
  EXPECT_THAT(attributes_of(device("gpu-0")), Contains("driverVersion=version 580.126.20"));
  EXPECT_EQ(device("gpu-0").health.state, HealthState::kHealthy);
}

TEST_P(NvidiaDiscovery, ALibraryThatDoesNotMatchTheKernelModuleIsAFaultWithARemedy) {
  ASSERT_TRUE(start_on({.product = "h100"}));
  discover();
  gpus->mismatch();
  const Device gpu = device("gpu-0");
  EXPECT_EQ(gpu.health.state, HealthState::kUnhealthy);
  EXPECT_THAT(gpu.health.message, HasSubstr("modprobe nvidia"));
}

TEST_P(NvidiaDiscovery, OlderDriversLackSomeAttributes) {
  ASSERT_TRUE(start_on({.product = "t4", .driver = "470.256.02"}));
  const auto attributes = attributes_of(device("gpu-0"));
  EXPECT_THAT(attributes, Contains("driverVersion=version 470.256.2"));
  EXPECT_THAT(attributes, Contains("architecture=Turing"));
  EXPECT_THAT(attributes, Not(Contains(HasSubstr("addressingMode"))));
}

TEST_P(NvidiaDiscovery, StaticMigOffersTheInstancesThatExist) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100", .gpus = 2});
  gpus->set_mig_mode(0, true);
  const unsigned instance = gpus->create_instance(0, 14, 2);
  gpus->create_instance(0, 19, 6);
  ASSERT_TRUE(start_again());
  EXPECT_THAT(names(), ElementsAre("gpu-0-mig-1g10gb-19-6", "gpu-0-mig-2g20gb-14-2", "gpu-1"));
  const Device mig = device("gpu-0-mig-2g20gb-14-2");
  EXPECT_EQ(mig.id, gpus->mig_uuid(0, instance));
  EXPECT_EQ(mig.kind, "mig");
  EXPECT_EQ(mig.parent_id, gpus->uuid(0));
  EXPECT_THAT(attributes_of(mig), Contains("profile=2g.20gb"));
  EXPECT_THAT(attributes_of(mig), Contains("parentUUID=" + gpus->uuid(0)));
  EXPECT_THAT(amounts_of(mig.capacity),
              UnorderedElementsAre("multiprocessors=32", "copyEngines=2", "decoders=2", "encoders=0", "jpegEngines=2",
                                   "ofaEngines=0", HasSubstr("memory="), "memorySlice2=1", "memorySlice3=1"));
  gpus->destroy_instance(0, instance);
  EXPECT_THAT(names(), ElementsAre("gpu-0-mig-1g10gb-19-6", "gpu-1"));
}

TEST_P(NvidiaDiscovery, DynamicMigOffersEveryPlacementOfEveryProfile) {
  ASSERT_TRUE(start_on({.product = "h100"}, {{"mig", std::string("dynamic")}}));
  const SnapshotPtr snapshot = discover();
  EXPECT_THAT(names(), SizeIs(1 + 7 + 7 + 4 + 3 + 2 + 1 + 1));
  const auto& counters = snapshot->counter_sets.at("gpu-0-counter-set");
  EXPECT_THAT(amounts_of(counters), Contains("multiprocessors=132"));
  EXPECT_THAT(amounts_of(counters), Contains("memory-slice-7=1"));
  const Device part = device("gpu-0-mig-3g40gb-9-4");
  ASSERT_THAT(part.consumes, SizeIs(1));
  EXPECT_THAT(amounts_of(part.consumes[0].counters),
              UnorderedElementsAre("multiprocessors=60", "copy-engines=3", "decoders=3", "encoders=0", "jpeg-engines=3",
                                   "ofa-engines=0", HasSubstr("memory="), "memory-slice-4=1", "memory-slice-5=1",
                                   "memory-slice-6=1", "memory-slice-7=1"));
  EXPECT_EQ(device("gpu-0").consumes.at(0).counters, counters) << "the whole GPU";
}

// As NVIDIA's DRA driver publishes it: the capacities are those of the largest profile, which the counters have.
TEST_P(NvidiaDiscovery, AWholeGpuThatCanBeDividedHasTheMemoryOfItsLargestProfile) {
  ASSERT_TRUE(start_on({.product = "h100"}, {{"mig", std::string("dynamic")}}));
  unsigned long long largest = 0;
  {
    const auto world = gpus->state();
    for (unsigned i = 0; i < world->gpus[0].profile_count; ++i)
      largest = std::max(largest, world->gpus[0].profiles[i].memory_mib);
  }
  EXPECT_LT(largest, 81559u);
  const Device whole = device("gpu-0");
  EXPECT_THAT(amounts_of(whole.capacity), Contains(fmt::format("memory={}Mi", largest)));
  EXPECT_THAT(amounts_of(whole.consumes.at(0).counters), Contains(fmt::format("memory={}Mi", largest)));
  ASSERT_TRUE(start_on({.product = "h100"}));
  EXPECT_THAT(amounts_of(device("gpu-0").capacity), ElementsAre("memory=81559Mi")) << "static";
}

TEST_P(NvidiaDiscovery, AnAmpereOffersItselfOrItsPartitions) {
  ASSERT_TRUE(start_on({.product = "a100", .gpus = 2}, {{"mig", std::string("dynamic")}}));
  EXPECT_THAT(names(), ElementsAre("gpu-0", "gpu-1"));
  gpus->set_mig_mode(0, true);
  gpus->reset(0);
  EXPECT_THAT(names(), SizeIs(7 + 7 + 4 + 3 + 2 + 1 + 1 + 1));
  EXPECT_THAT(names(), Not(Contains("gpu-0")));
}

TEST_P(NvidiaDiscovery, SixteenGpusWithAllTheirPartitionsFitTheLimits) {
  ASSERT_TRUE(start_on({.product = "rtx-pro-6000", .gpus = 16}, {{"mig", std::string("dynamic")}}));
  const SnapshotPtr snapshot = discover();
  EXPECT_THAT(snapshot->left_out, IsEmpty());
  EXPECT_THAT(snapshot->counter_sets, SizeIs(16));
}

TEST_P(NvidiaDiscovery, TheLargestStaticInstanceOfTwelveSlicesFitsTheLimits) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "rtx-pro-6000"});
  gpus->set_mig_mode(0, true);
  gpus->create_instance(0, 0, 0);
  ASSERT_TRUE(start_again());
  EXPECT_THAT(discover()->left_out, IsEmpty());
  EXPECT_THAT(names(), SizeIs(1));
}

}  // namespace
}  // namespace cardcage
