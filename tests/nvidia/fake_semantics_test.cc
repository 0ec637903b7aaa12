// Results of NVML calls in the fake driver for missing or lost objects, small buffers and new structs, as the NVML API
// reference describes them.
#include <gmock/gmock.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/nvidia/loaded_fake.h"

namespace cardcage {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;

TEST(FakeInitTest, CountsItsCallers) {
  const LoadedFake fake;
  unsigned count = 0;
  ASSERT_EQ(fake.call.nvmlInit_v2(), nvml::kSuccess);
  EXPECT_EQ(fake.call.nvmlShutdown(), nvml::kSuccess);
  EXPECT_EQ(fake.call.nvmlDeviceGetCount_v2(&count), nvml::kSuccess) << "one user is left";
  const nvml::Device before = fake.device();
  EXPECT_EQ(fake.call.nvmlShutdown(), nvml::kSuccess);
  EXPECT_EQ(fake.call.nvmlDeviceGetCount_v2(&count), 1) << "uninitialized";
  EXPECT_EQ(fake.call.nvmlShutdown(), nvml::kSuccess) << "an extra call is not an error";
  ASSERT_EQ(fake.call.nvmlInit_v2(), nvml::kSuccess);
  unsigned minor = 0;
  EXPECT_EQ(fake.call.nvmlDeviceGetMinorNumber(before, &minor), 2) << "handles die with the last shutdown";
}

TEST(FakeInitTest, NoGpusAreNoErrorWithTheFlag) {
  const LoadedFake fake({.gpus = 0});
  EXPECT_EQ(fake.call.nvmlInitWithFlags(1), nvml::kSuccess);
  unsigned count = 7;
  EXPECT_EQ(fake.call.nvmlDeviceGetCount_v2(&count), nvml::kSuccess);
  EXPECT_EQ(count, 0u);
}

TEST(FakeInitTest, FailsWithoutTheKernelModule) {
  LoadedFake fake;
  fake.unload();
  fake.gpus.unload_driver();
  fake.load();
  EXPECT_EQ(fake.init_code, 9) << "driver not loaded";
  fake.unload();
  fake.gpus.load_driver();
  fake.load();
  EXPECT_EQ(fake.init_code, nvml::kSuccess);
}

TEST(FakeInitTest, FailsWithALibraryOfAnotherVersion) {
  LoadedFake fake;
  fake.unload();
  fake.gpus.mismatch("580.126.20");
  fake.load();
  EXPECT_EQ(fake.init_code, 18) << "library and kernel module differ";
}

TEST(FakeInitTest, AnUpgradeNeedsTheNewLibrary) {
  LoadedFake fake;
  fake.gpus.upgrade_driver("580.126.20");
  unsigned count = 0;
  EXPECT_EQ(fake.call.nvmlDeviceGetCount_v2(&count), 18) << "library and kernel module differ";
  fake.unload();
  fake.load();
  ASSERT_EQ(fake.init_code, nvml::kSuccess);
  char version[80] = {};
  ASSERT_EQ(fake.call.nvmlSystemGetDriverVersion(version, 80), nvml::kSuccess);
  EXPECT_STREQ(version, "580.126.20");
}

class FakeLossTest : public ::testing::Test {
 protected:
  unsigned count() const {
    unsigned count = 99;
    EXPECT_EQ(fake.call.nvmlDeviceGetCount_v2(&count), nvml::kSuccess);
    return count;
  }
  nvml::Return temperature(nvml::Device device) const {
    unsigned celsius = 0;
    return fake.call.nvmlDeviceGetTemperature(device, 0, &celsius);
  }
  nvml::Return handle(unsigned index) const {
    nvml::Device device = nullptr;
    return fake.call.nvmlDeviceGetHandleByIndex_v2(index, &device);
  }
  LoadedFake fake{{.gpus = 3}};
};

TEST_F(FakeLossTest, ALostGpuIsCountedAndItsSiblingsServe) {
  const nvml::Device lost = fake.device(1), sibling = fake.device(2);
  fake.gpus.lose(1);
  EXPECT_EQ(count(), 3u);
  EXPECT_EQ(temperature(lost), 15) << "GPU is lost";
  EXPECT_EQ(handle(1), 15);
  nvml::Device found = nullptr;
  EXPECT_EQ(fake.call.nvmlDeviceGetHandleByPciBusId_v2(fake.gpus.bus_id(1).c_str(), &found), 15);
  unsigned minor = 0;
  nvml::Memory memory{};
  nvml::FieldValue value = field_with_id(230);
  EXPECT_EQ(fake.call.nvmlDeviceGetMinorNumber(lost, &minor), 15);
  EXPECT_EQ(fake.call.nvmlDeviceGetMemoryInfo(lost, &memory), 15);
  EXPECT_EQ(fake.call.nvmlDeviceGetFieldValues(lost, 1, &value), 15);
  EXPECT_EQ(temperature(sibling), nvml::kSuccess);
  EXPECT_EQ(handle(0), nvml::kSuccess);
  EXPECT_EQ(handle(2), nvml::kSuccess);
}

TEST_F(FakeLossTest, ARemovedGpuIsNotCounted) {
  const nvml::Device removed = fake.device(1);
  fake.gpus.remove(1);
  EXPECT_EQ(count(), 2u);
  EXPECT_THAT(temperature(removed), ::testing::AnyOf(2, 15, 28));
  EXPECT_EQ(handle(1), nvml::kSuccess) << "indices close up";
  EXPECT_EQ(handle(2), 2) << "invalid argument";
  nvml::Device found = nullptr;
  EXPECT_EQ(fake.call.nvmlDeviceGetHandleByPciBusId_v2("0000:ff:00.0", &found), 6) << "not found";
}

TEST_F(FakeLossTest, HandlesFromBeforeAResetStayDead) {
  const nvml::Device before = fake.device(1);
  fake.gpus.lose(1);
  fake.gpus.restore(1);
  EXPECT_THAT(temperature(before), ::testing::AnyOf(1, 2, 15));
  EXPECT_EQ(temperature(fake.device(1)), nvml::kSuccess);
}

TEST_F(FakeLossTest, ADeniedGpuIsCounted) {
  fake.gpus.deny(1);
  EXPECT_EQ(count(), 3u);
  EXPECT_EQ(handle(1), 4) << "no permission";
  EXPECT_EQ(handle(2), nvml::kSuccess);
}

class FakeEventTest : public ::testing::Test {
 protected:
  static constexpr unsigned long long kTypes = 0x8 | 0x100 | 0x4000 | 0x8000;
  FakeEventTest() {
    EXPECT_EQ(fake.call.nvmlEventSetCreate(&set), nvml::kSuccess);
    EXPECT_EQ(fake.call.nvmlDeviceRegisterEvents(fake.device(0), kTypes, set), nvml::kSuccess);
  }
  nvml::Return wait(unsigned ms = 2000) { return fake.call.nvmlEventSetWait_v2(set, &event, ms); }

  LoadedFake fake{{.gpus = 2}};
  nvml::EventSet set = nullptr;
  nvml::EventData event{};
};

TEST_F(FakeEventTest, AnXidHasNoInstanceUnlessTheDriverKnowsIt) {
  fake.gpus.raise_xid(0, 79);
  ASSERT_EQ(wait(), nvml::kSuccess);
  EXPECT_EQ(event.device, fake.device(0));
  EXPECT_EQ(event.eventType, 0x8u);
  EXPECT_EQ(event.eventData, 79u);
  EXPECT_EQ(event.gpuInstanceId, 0xFFFFFFFFu);
  EXPECT_EQ(event.computeInstanceId, 0xFFFFFFFFu);
  fake.gpus.raise_xid(0, 94, 9, 0);
  ASSERT_EQ(wait(), nvml::kSuccess);
  EXPECT_EQ(event.gpuInstanceId, 9u);
  EXPECT_EQ(event.computeInstanceId, 0u);
}

TEST_F(FakeEventTest, NothingFromBeforeTheRegistrationComes) {
  fake.gpus.raise_xid(1, 31);
  ASSERT_EQ(fake.call.nvmlDeviceRegisterEvents(fake.device(1), kTypes, set), nvml::kSuccess);
  EXPECT_EQ(wait(20), 10) << "timeout";
  fake.gpus.raise_xid(1, 43);
  ASSERT_EQ(wait(), nvml::kSuccess);
  EXPECT_EQ(event.eventData, 43u);
}

TEST_F(FakeEventTest, OnlyRegisteredTypesComeInOrder) {
  fake.gpus.raise_event(0, 0x2, 0);
  fake.gpus.raise_xid(0, 63);
  fake.gpus.raise_xid(0, 94);
  ASSERT_EQ(wait(), nvml::kSuccess);
  EXPECT_EQ(event.eventData, 63u);
  ASSERT_EQ(wait(), nvml::kSuccess);
  EXPECT_EQ(event.eventData, 94u);
  EXPECT_EQ(wait(20), 10) << "timeout";
}

TEST_F(FakeEventTest, AnEventNamesItsGpuWhateverTheSet) {
  fake.gpus.raise_xid_in_sets_of(0, 1, 119);
  ASSERT_EQ(wait(), nvml::kSuccess);
  EXPECT_EQ(event.device, fake.device(1));
  EXPECT_EQ(event.eventData, 119u);
}

TEST_F(FakeEventTest, EachSetHasItsOwnQueue) {
  nvml::EventSet other = nullptr;
  ASSERT_EQ(fake.call.nvmlEventSetCreate(&other), nvml::kSuccess);
  ASSERT_EQ(fake.call.nvmlDeviceRegisterEvents(fake.device(0), 0x8, other), nvml::kSuccess);
  fake.gpus.raise_xid(0, 48);
  EXPECT_EQ(wait(), nvml::kSuccess);
  EXPECT_EQ(fake.call.nvmlEventSetWait_v2(other, &event, 2000), nvml::kSuccess);
  EXPECT_EQ(fake.call.nvmlEventSetFree(other), nvml::kSuccess);
  EXPECT_EQ(fake.call.nvmlEventSetWait_v2(other, &event, 0), 2) << "invalid argument";
}

TEST_F(FakeEventTest, WaitingForALostGpuFailsAtOnceAndForEver) {
  fake.gpus.raise_xid(0, 79);
  fake.gpus.lose(0);
  EXPECT_EQ(wait(), nvml::kSuccess) << "the XID is already queued";
  const auto begin = steady_clock::now();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(wait(60'000), 15) << "GPU is lost";
  EXPECT_LT(steady_clock::now() - begin, milliseconds(30'000));
}

TEST_F(FakeEventTest, ASignalEndsTheWaitEarly) {
  struct sigaction ignore{}, before{};
  ignore.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &ignore, &before), 0);
  std::atomic<bool> done = false;
  nvml::Return code = nvml::kSuccess;
  const auto begin = steady_clock::now();
  std::thread waiting([&] {
    code = wait(60'000);
    done = true;
  });
  while (!done) {
    ::pthread_kill(waiting.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(milliseconds(10));
  }
  waiting.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(code, 10) << "timeout";
  EXPECT_LT(steady_clock::now() - begin, milliseconds(30'000));
}

TEST_F(FakeEventTest, TheRecoveryActionIsAnEventAndAField) {
  fake.gpus.set_recovery_action(0, nvml::kActionDrainP2p);
  ASSERT_EQ(wait(), nvml::kSuccess);
  EXPECT_EQ(event.eventType, 0x8000u);
  EXPECT_EQ(event.eventData, 3u);
  nvml::FieldValue value = field_with_id(230);
  ASSERT_EQ(fake.call.nvmlDeviceGetFieldValues(fake.device(0), 1, &value), nvml::kSuccess);
  ASSERT_EQ(value.nvmlReturn, nvml::kSuccess);
  EXPECT_EQ(value.value.u, 3u);
}

TEST_F(FakeEventTest, UnsupportedTypesAreNotRegistered) {
  unsigned long long types = 0;
  ASSERT_EQ(fake.call.nvmlDeviceGetSupportedEventTypes(fake.device(0), &types), nvml::kSuccess);
  EXPECT_EQ(types & kTypes, kTypes);
  EXPECT_EQ(fake.call.nvmlDeviceRegisterEvents(fake.device(0), 1ull << 40, set), 3) << "not supported";
  fake.gpus.raise_xid(0, 13);
  EXPECT_EQ(wait(), nvml::kSuccess) << "the set stays usable";
}

TEST(FakeBufferTest, ShortTextsAreRefused) {
  const LoadedFake fake;
  char text[96];
  EXPECT_EQ(fake.call.nvmlDeviceGetUUID(fake.device(), text, 40), 7) << "insufficient size";
  EXPECT_EQ(fake.call.nvmlDeviceGetUUID(fake.device(), text, 41), nvml::kSuccess)
      << "GPU-, 36 characters and the terminator";
  EXPECT_EQ(fake.call.nvmlDeviceGetName(fake.device(), text, 4), 7);
  EXPECT_EQ(fake.call.nvmlDeviceGetSerial(fake.device(), text, 1), 7);
  EXPECT_EQ(fake.call.nvmlSystemGetDriverVersion(text, 4), 7);
}

TEST(FakeBufferTest, AShortListOfProcessesTellsHowManyThereAre) {
  LoadedFake fake;
  unsigned count = 0;
  EXPECT_EQ(fake.call.nvmlDeviceGetComputeRunningProcesses_v3(fake.device(), &count, nullptr), nvml::kSuccess);
  EXPECT_EQ(count, 0u);
  fake.gpus.add_process(0, 100, 1 << 20);
  fake.gpus.add_process(0, 200, 2 << 20, 9, 1);
  EXPECT_EQ(fake.call.nvmlDeviceGetComputeRunningProcesses_v3(fake.device(), &count, nullptr), 7);
  EXPECT_EQ(count, 2u);
  nvml::ProcessInfo found[4] = {};
  count = 1;
  EXPECT_EQ(fake.call.nvmlDeviceGetComputeRunningProcesses_v3(fake.device(), &count, found), 7);
  EXPECT_EQ(count, 2u);
  count = 4;
  ASSERT_EQ(fake.call.nvmlDeviceGetComputeRunningProcesses_v3(fake.device(), &count, found), nvml::kSuccess);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(found[0].pid, 100u);
  EXPECT_EQ(found[0].usedGpuMemory, 1u << 20);
  EXPECT_EQ(found[0].gpuInstanceId, 0xFFFFFFFFu);
  EXPECT_EQ(found[1].pid, 200u);
  EXPECT_EQ(found[1].gpuInstanceId, 9u);
  EXPECT_EQ(found[1].computeInstanceId, 1u);
}

TEST(FakeBufferTest, AShortListOfPlacementsTellsHowManyThereAre) {
  const LoadedFake fake;
  nvml::Placement found[7] = {};
  unsigned count = 3;
  EXPECT_EQ(fake.call.nvmlDeviceGetGpuInstancePossiblePlacements_v2(fake.device(), 19, found, &count), 7);
  EXPECT_EQ(count, 7u);
}

TEST(FakeTagTest, WrongTagsAreRefused) {
  const LoadedFake fake;
  const nvml::Device device = fake.device();
  auto memory = tagged<nvml::Memory2>(0x02000018);
  EXPECT_EQ(fake.call.nvmlDeviceGetMemoryInfo_v2(device, &memory), 25) << "argument version mismatch";
  auto temperature = tagged<nvml::Temperature>(0x0200000c);
  EXPECT_EQ(fake.call.nvmlDeviceGetTemperatureV(device, &temperature), 25);
  nvml::MarginTemperature margin{};
  EXPECT_EQ(fake.call.nvmlDeviceGetMarginTemperature(device, &margin), 25);
  auto mode = tagged<nvml::DeviceAddressingMode>(8);
  EXPECT_EQ(fake.call.nvmlDeviceGetAddressingMode(device, &mode), 25);
  auto fabric = tagged<nvml::GpuFabricInfo3>(0x04000028);
  EXPECT_EQ(fake.call.nvmlDeviceGetGpuFabricInfoV(device, &fabric), 25);
  auto profile = tagged<nvml::GpuInstanceProfileInfo3>(0x04000098);
  EXPECT_EQ(fake.call.nvmlDeviceGetGpuInstanceProfileInfoV(device, 0, &profile), 25);
}

TEST(FakeFieldTest, EachFieldHasItsOwnCode) {
  LoadedFake fake;
  fake.gpus.set_field(0, 144, 1);
  nvml::FieldValue values[] = {field_with_id(144), field_with_id(9999), field_with_id(230)};
  ASSERT_EQ(fake.call.nvmlDeviceGetFieldValues(fake.device(), 3, values), nvml::kSuccess);
  EXPECT_THAT((std::vector<int>{values[0].nvmlReturn, values[1].nvmlReturn, values[2].nvmlReturn}),
              ElementsAre(0, 3, 0));
  EXPECT_EQ(values[0].value.u, 1u);
}

}  // namespace
}  // namespace cardcage
