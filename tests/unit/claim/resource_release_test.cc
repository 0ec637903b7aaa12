// Devices that are given back, or that an earlier host handed out.
#include <gmock/gmock.h>

#include "tests/unit/claim/allocator_world.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using ResourceReleaseTest = AllocatorWorld;

TEST_F(ResourceReleaseTest, ADeviceThatIsBeingHandedOutIsNotReleased) {
  gpus->block<PrepareCall>();
  const auto answer = begin(allocator->allocate({"GPU-0"}, soon()));
  ASSERT_TRUE(until([&] { return held("gpu-0") != nullptr; }));
  EXPECT_TRUE(allocator->busy("GPU-0"));
  EXPECT_EQ(release("GPU-0").error().code, Code::kUnavailable);
  gpus->unblock<PrepareCall>();
  ASSERT_TRUE(until([&] { return answer->has_value(); }));
  EXPECT_TRUE((*answer)->has_value());
  EXPECT_FALSE(allocator->busy("GPU-0"));
}

// The record of a device has no holder during its first prepare, and is listed under the device's own id.
TEST_F(ResourceReleaseTest, AReplicaThatIsBeingHandedOutIsNotReleased) {
  serve({.replicas = 4});
  gpus->block<PrepareCall>();
  const auto answer = begin(allocator->allocate({"GPU-0::0"}, soon()));
  ASSERT_TRUE(until([&] { return held("gpu-0") != nullptr; }));
  ASSERT_THAT(allocator->handed_out(), SizeIs(1));
  EXPECT_TRUE(allocator->handed_out()[0].allocating);
  const auto released = begin(allocator->release("GPU-0", soon()));
  settle();
  gpus->unblock<PrepareCall>();
  ASSERT_TRUE(until([&] { return answer->has_value() && released->has_value(); }));
  EXPECT_TRUE((*answer)->has_value());
  EXPECT_EQ((*released)->error().code, Code::kUnavailable);
  EXPECT_EQ(gpus->count<UnprepareCall>(), 0);
  EXPECT_THAT(holders("gpu-0"), SizeIs(1));
}

TEST_F(ResourceReleaseTest, AReleaseThatWaitedForItsTurnLooksForNewHolders) {
  serve({.replicas = 4});
  ASSERT_TRUE(allocate({"GPU-0::0"}));
  reboot();
  serve({.replicas = 4});
  gpus->block<PrepareCall>();
  const auto restored = begin(allocator->restore(soon()));
  ASSERT_TRUE(until([&] { return gpus->count<PrepareCall>() == 2; }));
  const auto answer = begin(allocator->allocate({"GPU-0::1"}, soon()));
  settle();
  const auto released = begin(allocator->release("GPU-0::0", soon()));
  settle();
  gpus->unblock<PrepareCall>();
  ASSERT_TRUE(until([&] { return answer->has_value() && released->has_value(); }));
  EXPECT_TRUE((*answer)->has_value());
  EXPECT_EQ(gpus->count<UnprepareCall>(), 0);
  EXPECT_TRUE(release("GPU-0::0")) << "the next attempt";
  EXPECT_THAT(holders("gpu-0"), ElementsAre(::testing::Field(&Holder::id, "GPU-0::1")));
  EXPECT_EQ(gpus->count<UnprepareCall>(), 0);
}

// The module may reset the device, which another container may have then.
TEST_F(ResourceReleaseTest, APreStartBehindAReleaseTouchesNoDevice) {
  ASSERT_TRUE(allocate({"GPU-0"}));
  let_the_pod_run();
  gpus->block<UnprepareCall>();
  const auto released = begin(allocator->release("GPU-0", soon()));
  settle();
  const auto started = begin(allocator->pre_start({"GPU-0"}, soon()));
  settle();
  gpus->unblock<UnprepareCall>();
  ASSERT_TRUE(until([&] { return released->has_value() && started->has_value(); }));
  EXPECT_TRUE(**released);
  EXPECT_EQ(text_of(**started), "device 'gpu-0' of resource 'example.com/gpu': it was released meanwhile");
  EXPECT_EQ(gpus->count<PreStartCall>(), 0);
}

TEST_F(ResourceReleaseTest, AReplicaThatIsBeingAdoptedIsNotReleased) {
  serve({.replicas = 4});
  gpus->block<PrepareCall>();
  const auto adopted = begin(allocator->adopt("GPU-0::1", {"team", "train", "main"}, soon()));
  ASSERT_TRUE(until([&] { return held("gpu-0") != nullptr; }));
  const auto released = begin(allocator->release("GPU-0", soon()));
  settle();
  gpus->unblock<PrepareCall>();
  ASSERT_TRUE(until([&] { return adopted->has_value() && released->has_value(); }));
  EXPECT_EQ(gpus->count<UnprepareCall>(), 0);
  ASSERT_THAT(holders("gpu-0"), SizeIs(1));
  EXPECT_EQ(holders("gpu-0")[0].pod, "train");
}

TEST_F(ResourceReleaseTest, ADeviceThatIsReleasedMeanwhileIsNotRestored) {
  ASSERT_TRUE(allocate({"GPU-0", "GPU-1"}));
  reboot();
  gpus->block<PrepareCall>();
  const auto restored = begin(allocator->restore(soon()));
  ASSERT_TRUE(until([&] { return gpus->count<PrepareCall>() == 3; }));
  ASSERT_TRUE(release("GPU-1"));
  gpus->unblock<PrepareCall>();
  ASSERT_TRUE(until([&] { return restored->has_value(); }));
  EXPECT_TRUE(**restored);
  EXPECT_EQ(held("gpu-1"), nullptr);
  EXPECT_EQ(gpus->count<PrepareCall>(), 3);
}

TEST_F(ResourceReleaseTest, AReplicaThatIsReleasedDuringARestoreStaysReleased) {
  serve({.replicas = 4});
  ASSERT_TRUE(allocate({"GPU-0::0", "GPU-0::1"}));
  reboot();
  serve({.replicas = 4});
  gpus->block<PrepareCall>();
  const auto restored = begin(allocator->restore(soon()));
  ASSERT_TRUE(until([&] { return gpus->count<PrepareCall>() == 2; }));
  ASSERT_TRUE(release("GPU-0::0"));
  gpus->unblock<PrepareCall>();
  ASSERT_TRUE(until([&] { return restored->has_value(); }));
  EXPECT_THAT(holders("gpu-0"), ElementsAre(::testing::Field(&Holder::id, "GPU-0::1")));
}

TEST_F(ResourceReleaseTest, ARestartKeepsDevicesThatAreHandedOut) {
  const auto before = allocate({"GPU-0"});
  allocator->seen("GPU-0", {"team", "train", "main"});
  let_the_ledger_write();
  std::filesystem::remove_all(cdi.folder());
  restart();
  EXPECT_EQ(cdi.read({{Api::kDevicePlugin, kResource}, "gpu-0"}).value().devices[0].name, "gpu-0")
      << "the file is written again";
  ASSERT_THAT(holders("gpu-0"), SizeIs(1));
  EXPECT_EQ(holders("gpu-0")[0].pod, "train");
  EXPECT_EQ(allocator->records()[0]->phase, ClaimPhase::kPrepared);
  const auto after = allocate({"GPU-0"});
  EXPECT_EQ(after, before);
}

TEST_F(ResourceReleaseTest, AfterARebootDevicesAreRestored) {
  ASSERT_TRUE(allocate({"GPU-0"}));
  allocator->seen("GPU-0", {"team", "train", "main"});
  let_the_ledger_write();
  boot_id = "another boot";
  std::filesystem::remove_all(cdi.folder());
  restart();
  EXPECT_FALSE(cdi.read({{Api::kDevicePlugin, kResource}, "gpu-0"})) << "no device is listed yet";
  run(allocator->restore(soon()));
  EXPECT_EQ(gpus->count<PrepareCall>(), 2);
  EXPECT_TRUE(gpus->holds["gpu-0"].other_boot);
  EXPECT_TRUE(cdi.read({{Api::kDevicePlugin, kResource}, "gpu-0"}))
      << "the kubelet passes the old names to the runtime";
  EXPECT_EQ(holders("gpu-0")[0].pod, "train");
  run(allocator->restore(soon()));
  EXPECT_EQ(gpus->count<PrepareCall>(), 2) << "it is not prepared again";
}

TEST_F(ResourceReleaseTest, AnIdMissingInTheLedgerIsAdopted) {
  ASSERT_TRUE(run(allocator->adopt("GPU-3", {"team", "train", "main"}, soon())));
  ASSERT_THAT(holders("gpu-3"), SizeIs(1));
  EXPECT_EQ(holders("gpu-3")[0].pod, "train");
  EXPECT_TRUE(cdi.read({{Api::kDevicePlugin, kResource}, "gpu-3"}));
}

TEST_F(ResourceReleaseTest, ALedgerRebuiltFromCdiFilesLearnsItsHolders) {
  ASSERT_TRUE(allocate({"GPU-0"}));
  allocator.reset();
  lose_ledger();
  restart();
  ASSERT_NE(held("gpu-0"), nullptr);
  EXPECT_THAT(holders("gpu-0"), IsEmpty());
  run(allocator->restore(soon()));
  allocator->seen("GPU-0", {"team", "train", "main"});
  ASSERT_THAT(holders("gpu-0"), SizeIs(1));
  EXPECT_EQ(holders("gpu-0")[0].container, "main");
}

}  // namespace
}  // namespace cardcage
