// MIG mode, GPU instances and compute instances of the fake driver, as the NVML API reference describes them and as a
// listing of a card shows them.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/nvidia/loaded_fake.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;

class FakeMigTest : public ::testing::Test {
 protected:
  FakeMigTest() { fake.enable_mig(); }
  nvml::Return create(unsigned profile_id, nvml::Placement placement) {
    nvml::GpuInstance instance = nullptr;
    const nvml::Return code = fake.create(device(), profile_id, placement, instance);
    if (code == nvml::kSuccess) instances.push_back(instance);
    return code;
  }
  nvml::Device device() const { return fake.device(); }
  nvml::GpuInstanceInfo info(nvml::GpuInstance instance) const {
    nvml::GpuInstanceInfo info{};
    EXPECT_EQ(fake.call.nvmlGpuInstanceGetInfo(instance, &info), nvml::kSuccess);
    return info;
  }
  // `index` is the index of the compute instance profile: 0 has one slice, 2 has three.
  nvml::ComputeInstance create_compute(nvml::GpuInstance instance, unsigned index) const {
    nvml::ComputeInstanceProfileInfo profile{};
    EXPECT_EQ(fake.call.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, index, 0, &profile), nvml::kSuccess);
    nvml::ComputeInstance compute = nullptr;
    EXPECT_EQ(fake.call.nvmlGpuInstanceCreateComputeInstance(instance, profile.id, &compute), nvml::kSuccess);
    return compute;
  }
  nvml::ComputeInstanceInfo info(nvml::ComputeInstance compute) const {
    nvml::ComputeInstanceInfo info{};
    EXPECT_EQ(fake.call.nvmlComputeInstanceGetInfo_v2(compute, &info), nvml::kSuccess);
    return info;
  }

  LoadedFake fake{{.product = "h100"}};
  std::vector<nvml::GpuInstance> instances;
};

// The order in which a driver placed them when nvidia-smi named no placement.
TEST_F(FakeMigTest, SevenSmallInstancesHaveIdsByPlacementAndNotByOrder) {
  std::vector<unsigned> ids;
  for (const unsigned start : {6u, 4u, 5u, 0u, 1u, 2u, 3u}) {
    ASSERT_EQ(create(19, {start, 1}), nvml::kSuccess);
    ids.push_back(info(instances.back()).id);
    EXPECT_EQ(info(instances.back()).placement.start, start);
    EXPECT_EQ(info(instances.back()).placement.size, 1u);
    EXPECT_EQ(info(instances.back()).profileId, 19u);
    EXPECT_EQ(info(instances.back()).device, device());
  }
  EXPECT_THAT(ids, ElementsAre(13, 11, 12, 7, 8, 9, 10));
  for (unsigned start = 0; start < 7; ++start) EXPECT_EQ(create(19, {start, 1}), 23) << "insufficient resources";
}

TEST_F(FakeMigTest, AFreedPlacementGetsItsIdBack) {
  ASSERT_EQ(create(19, {3, 1}), nvml::kSuccess);
  ASSERT_EQ(create(19, {5, 1}), nvml::kSuccess);
  const unsigned id = info(instances[0]).id;
  ASSERT_EQ(fake.call.nvmlGpuInstanceDestroy(instances[0]), nvml::kSuccess);
  ASSERT_EQ(create(19, {3, 1}), nvml::kSuccess);
  EXPECT_EQ(info(instances.back()).id, id);
}

TEST_F(FakeMigTest, PlacementsDoNotOverlap) {
  ASSERT_EQ(create(9, {4, 4}), nvml::kSuccess);
  EXPECT_EQ(create(9, {4, 4}), 23) << "the same again";
  EXPECT_EQ(create(14, {4, 2}), 23) << "2g inside of 3g";
  EXPECT_EQ(create(19, {6, 1}), 23) << "1g inside of 3g";
  EXPECT_EQ(create(0, {0, 8}), 23) << "7g around 3g";
  EXPECT_EQ(create(5, {0, 4}), nvml::kSuccess) << "4g beside 3g";
}

TEST_F(FakeMigTest, PlacementsAreThoseOfTheProfile) {
  EXPECT_EQ(create(14, {1, 2}), 2) << "invalid argument";
  EXPECT_EQ(create(9, {0, 3}), 2) << "3g takes four slices of memory";
  EXPECT_EQ(create(99, {0, 1}), 2);
}

TEST_F(FakeMigTest, InstancesAreListedByProfileAndById) {
  ASSERT_EQ(create(9, {4, 4}), nvml::kSuccess);
  ASSERT_EQ(create(19, {0, 1}), nvml::kSuccess);
  nvml::GpuInstance found[8] = {};
  unsigned count = 8;
  ASSERT_EQ(fake.call.nvmlDeviceGetGpuInstances(device(), 9, found, &count), nvml::kSuccess);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(info(found[0]).placement.start, 4u);
  count = 8;
  ASSERT_EQ(fake.call.nvmlDeviceGetGpuInstances(device(), 14, found, &count), nvml::kSuccess);
  EXPECT_EQ(count, 0u);
  nvml::GpuInstance by_id = nullptr;
  ASSERT_EQ(fake.call.nvmlDeviceGetGpuInstanceById(device(), info(instances[1]).id, &by_id), nvml::kSuccess);
  EXPECT_EQ(info(by_id).profileId, 19u);
  EXPECT_EQ(fake.call.nvmlDeviceGetGpuInstanceById(device(), 14, &by_id), 6) << "not found";
}

TEST_F(FakeMigTest, AComputeInstanceMakesAMigDevice) {
  ASSERT_EQ(create(9, {4, 4}), nvml::kSuccess);
  nvml::Device mig = nullptr;
  EXPECT_EQ(fake.call.nvmlDeviceGetMigDeviceHandleByIndex(device(), 0, &mig), 6) << "not found";
  const nvml::ComputeInstance compute = create_compute(instances[0], 2);
  ASSERT_EQ(fake.call.nvmlDeviceGetMigDeviceHandleByIndex(device(), 0, &mig), nvml::kSuccess);
  EXPECT_EQ(info(compute).device, mig);
  EXPECT_EQ(info(compute).gpuInstance, instances[0]);
  char uuid[96] = {};
  ASSERT_EQ(fake.call.nvmlDeviceGetUUID(mig, uuid, 96), nvml::kSuccess);
  EXPECT_THAT(uuid, MatchesRegex("MIG-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
  nvml::Device by_uuid = nullptr;
  const auto get_by_uuid = fake.find<nvml::Return(const char*, nvml::Device*)>("nvmlDeviceGetHandleByUUID");
  ASSERT_NE(get_by_uuid, nullptr);
  EXPECT_EQ(get_by_uuid(uuid, &by_uuid), nvml::kSuccess);
  EXPECT_EQ(by_uuid, mig);
  unsigned gi = 99, ci = 99;
  EXPECT_EQ(fake.call.nvmlDeviceGetGpuInstanceId(mig, &gi), nvml::kSuccess);
  EXPECT_EQ(fake.call.nvmlDeviceGetComputeInstanceId(mig, &ci), nvml::kSuccess);
  EXPECT_EQ(gi, info(instances[0]).id);
  EXPECT_EQ(ci, 0u);
  nvml::DeviceAttributes attributes{};
  ASSERT_EQ(fake.call.nvmlDeviceGetAttributes_v2(mig, &attributes), nvml::kSuccess);
  EXPECT_EQ(attributes.multiprocessorCount, 60u);
  EXPECT_EQ(attributes.sharedCopyEngineCount, 3u);
  EXPECT_EQ(attributes.sharedDecoderCount, 3u);
  EXPECT_EQ(attributes.sharedEncoderCount, 0u);
  EXPECT_EQ(attributes.sharedJpegCount, 3u);
  EXPECT_EQ(attributes.sharedOfaCount, 0u);
  EXPECT_EQ(attributes.gpuInstanceSliceCount, 3u);
  EXPECT_EQ(attributes.computeInstanceSliceCount, 3u);
  EXPECT_EQ(attributes.memorySizeMB, 40448u) << "39.50 GiB";
}

TEST_F(FakeMigTest, IndicesOfMigDevicesHaveGaps) {
  ASSERT_EQ(create(19, {0, 1}), nvml::kSuccess);
  ASSERT_EQ(create(19, {1, 1}), nvml::kSuccess);
  const nvml::ComputeInstance first = create_compute(instances[0], 0);
  create_compute(instances[1], 0);
  ASSERT_EQ(fake.call.nvmlComputeInstanceDestroy(first), nvml::kSuccess);
  nvml::Device mig = nullptr;
  EXPECT_EQ(fake.call.nvmlDeviceGetMigDeviceHandleByIndex(device(), 0, &mig), 6) << "not found";
  EXPECT_EQ(fake.call.nvmlDeviceGetMigDeviceHandleByIndex(device(), 1, &mig), nvml::kSuccess);
}

TEST_F(FakeMigTest, InstancesInUseAreNotDestroyed) {
  ASSERT_EQ(create(19, {0, 1}), nvml::kSuccess);
  const nvml::ComputeInstance compute = create_compute(instances[0], 0);
  EXPECT_EQ(fake.call.nvmlGpuInstanceDestroy(instances[0]), 19) << "it has a compute instance";
  fake.gpus.add_process(0, 4711, 1 << 20, info(instances[0]).id, 0);
  EXPECT_EQ(fake.call.nvmlComputeInstanceDestroy(compute), 19) << "a process runs in it";
  fake.gpus.remove_process(0, 4711);
  EXPECT_EQ(fake.call.nvmlComputeInstanceDestroy(compute), nvml::kSuccess);
  EXPECT_EQ(fake.call.nvmlGpuInstanceDestroy(instances[0]), nvml::kSuccess);
}

TEST_F(FakeMigTest, HandlesDieWithTheInstance) {
  ASSERT_EQ(create(19, {0, 1}), nvml::kSuccess);
  const nvml::ComputeInstance compute = create_compute(instances[0], 0);
  const nvml::Device mig = info(compute).device;
  ASSERT_EQ(fake.call.nvmlComputeInstanceDestroy(compute), nvml::kSuccess);
  ASSERT_EQ(fake.call.nvmlGpuInstanceDestroy(instances[0]), nvml::kSuccess);
  ASSERT_EQ(create(19, {0, 1}), nvml::kSuccess) << "the same instance again, with new handles";
  create_compute(instances[1], 0);
  char uuid[96];
  EXPECT_EQ(fake.call.nvmlDeviceGetUUID(mig, uuid, 96), 2) << "invalid argument";
  EXPECT_EQ(fake.call.nvmlComputeInstanceDestroy(compute), 2);
  EXPECT_EQ(fake.call.nvmlGpuInstanceDestroy(instances[0]), 2);
}

TEST_F(FakeMigTest, AResetEndsAllInstances) {
  ASSERT_EQ(create(19, {0, 1}), nvml::kSuccess);
  create_compute(instances[0], 0);
  fake.gpus.reset(0);
  nvml::GpuInstance found[7] = {};
  unsigned count = 7;
  EXPECT_EQ(fake.call.nvmlDeviceGetGpuInstances(device(), 19, found, &count), nvml::kSuccess) << "MIG mode stays";
  EXPECT_EQ(count, 0u);
}

TEST_F(FakeMigTest, SomeQueriesAreNotSupportedInMigMode) {
  nvml::Utilization utilization{};
  EXPECT_EQ(fake.call.nvmlDeviceGetUtilizationRates(device(), &utilization), 3) << "not supported";
  ASSERT_EQ(create(19, {0, 1}), nvml::kSuccess);
  nvml::RemappedRows2 rows{};
  EXPECT_EQ(fake.call.nvmlDeviceGetRemappedRows_v2(device(), &rows), 3);
  const nvml::ComputeInstance compute = create_compute(instances[0], 0);
  nvml::EventSet set = nullptr;
  ASSERT_EQ(fake.call.nvmlEventSetCreate(&set), nvml::kSuccess);
  EXPECT_EQ(fake.call.nvmlDeviceRegisterEvents(info(compute).device, 0x8, set), 3) << "only GPUs have events";
}

TEST_F(FakeMigTest, AChangeIsAnEvent) {
  nvml::EventSet set = nullptr;
  ASSERT_EQ(fake.call.nvmlEventSetCreate(&set), nvml::kSuccess);
  ASSERT_EQ(fake.call.nvmlDeviceRegisterEvents(device(), 0x100, set), nvml::kSuccess);
  ASSERT_EQ(create(19, {0, 1}), nvml::kSuccess);
  nvml::EventData event{};
  ASSERT_EQ(fake.call.nvmlEventSetWait_v2(set, &event, 1000), nvml::kSuccess);
  EXPECT_EQ(event.eventType, 0x100u);
  EXPECT_EQ(event.device, device());
}

class FakeMigModeTest : public ::testing::Test {
 protected:
  struct Mode {
    unsigned current = 7, pending = 7;
    bool operator==(const Mode&) const = default;
  };
  static Mode mode(const LoadedFake& fake) {
    Mode mode;
    EXPECT_EQ(fake.call.nvmlDeviceGetMigMode(fake.device(), &mode.current, &mode.pending), nvml::kSuccess);
    return mode;
  }
  static nvml::Return activation_of(const LoadedFake& fake, unsigned mode) {
    nvml::Return activation = nvml::kUnknown;
    EXPECT_EQ(fake.call.nvmlDeviceSetMigMode(fake.device(), mode, &activation), nvml::kSuccess);
    return activation;
  }
  static nvml::Return create_any(const LoadedFake& fake, unsigned profile_id) {
    nvml::GpuInstance instance = nullptr;
    return fake.create(fake.device(), profile_id, {0, 1}, instance);
  }
};

// Ampere keeps the mode in the InfoROM, and needs a reset.
TEST_F(FakeMigModeTest, IsPendingOnAmpereUntilAReset) {
  LoadedFake fake({.product = "a100"});
  EXPECT_EQ(activation_of(fake, 1), 16) << "reset required";
  EXPECT_EQ(mode(fake), (Mode{0, 1}));
  EXPECT_NE(create_any(fake, 19), nvml::kSuccess);
  fake.gpus.reset(0);
  EXPECT_EQ(mode(fake), (Mode{1, 1}));
  EXPECT_EQ(create_any(fake, 19), nvml::kSuccess);
  fake.gpus.unload_driver();
  fake.gpus.load_driver();
  EXPECT_EQ(mode(fake), (Mode{1, 1}));
}

// Hopper and later forget the mode with the kernel module.
TEST_F(FakeMigModeTest, ChangesAtOnceOnHopperAndEndsWithTheKernelModule) {
  LoadedFake fake({.product = "h100"});
  EXPECT_EQ(activation_of(fake, 1), nvml::kSuccess);
  EXPECT_EQ(mode(fake), (Mode{1, 1}));
  EXPECT_EQ(create_any(fake, 19), nvml::kSuccess);
  fake.gpus.unload_driver();
  fake.gpus.load_driver();
  EXPECT_EQ(mode(fake), (Mode{0, 0}));
}

TEST_F(FakeMigModeTest, IsPendingWhileTheGpuIsInUse) {
  LoadedFake fake({.product = "h100"});
  fake.gpus.add_process(0, 4711, 1 << 20);
  EXPECT_EQ(activation_of(fake, 1), 19) << "in use";
  EXPECT_EQ(mode(fake), (Mode{0, 1}));
}

TEST_F(FakeMigModeTest, BoundsTheNumberOfMigDevices) {
  for (const auto& [product, devices] : {std::pair{"h100", 7u}, {"a30", 4u}, {"rtx-pro-6000", 4u}}) {
    SCOPED_TRACE(product);
    LoadedFake fake({.product = product});
    fake.enable_mig();
    unsigned count = 0;
    EXPECT_EQ(fake.call.nvmlDeviceGetMaxMigDeviceCount(fake.device(), &count), nvml::kSuccess);
    EXPECT_EQ(count, devices);
  }
}

// Drivers list profiles and placements with MIG mode off since 550.
TEST_F(FakeMigModeTest, HidesTheProfilesBefore550) {
  for (const auto& [driver, code] : {std::pair{"535.161.08", 3}, {"550.54.15", 0}}) {
    SCOPED_TRACE(driver);
    LoadedFake fake({.product = "h100", .driver = driver});
    nvml::GpuInstanceProfileInfo info{};
    unsigned count = 0;
    EXPECT_EQ(fake.call.nvmlDeviceGetGpuInstanceProfileInfo(fake.device(), 0, &info), code);
    EXPECT_EQ(fake.call.nvmlDeviceGetGpuInstancePossiblePlacements_v2(fake.device(), 19, nullptr, &count), code);
    fake.enable_mig();
    EXPECT_EQ(fake.call.nvmlDeviceGetGpuInstanceProfileInfo(fake.device(), 0, &info), 0);
  }
}

}  // namespace
}  // namespace cardcage
