// Devices of a resource that got new names. The kubelet hands out ids, so the id counts.
#include <gmock/gmock.h>

#include "tests/unit/claim/allocator_world.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class RenumberedResourcesTest : public AllocatorWorld {
 protected:
  // Gives GPU-0 to pod "a" and GPU-1 to pod "b".
  void hand_out_both() {
    ASSERT_TRUE(allocate({"GPU-0"}));
    allocator->seen("GPU-0", {"team", "a", "main"});
    let_the_pod_run();
    ASSERT_TRUE(allocate({"GPU-1"}));
    allocator->seen("GPU-1", {"team", "b", "main"});
  }
  void swap() { directory.renumber({"gpu-0", "gpu-1"}, {"GPU-1", "GPU-0"}); }
  bool restore() { return run(allocator->restore(soon())); }
  // Whether the list shows the device as healthy.
  bool offered(const std::string& name) { return !unavailable(directory.device(name)); }
  // The edits of a container that names the CDI device.
  std::string given(const std::string& cdi_device) const {
    const auto spec = cdi.read({{Api::kDevicePlugin, kResource}, cdi_device});
    return spec && !spec->devices.empty() ? spec->devices[0].edits.env.at(0).value : "nothing";
  }
  std::vector<std::string> pods_of(const std::string& uid) const {
    std::vector<std::string> pods;
    for (const Holder& holder : holders(uid)) pods.push_back(holder.id + " " + holder.pod);
    return pods;
  }
};

TEST_F(RenumberedResourcesTest, AfterARebootEachPodKeepsItsIdUnderItsOwnCdiName) {
  hand_out_both();
  swap();
  reboot();
  EXPECT_TRUE(offered("gpu-0") && offered("gpu-1")) << "the list comes before the devices are prepared again";
  ASSERT_TRUE(restore());
  EXPECT_TRUE(offered("gpu-0") && offered("gpu-1"));
  EXPECT_EQ(given("gpu-0"), "GPU-0");
  EXPECT_EQ(given("gpu-1"), "GPU-1");
  EXPECT_THAT(pods_of("gpu-0"), ElementsAre("GPU-0 a"));
  EXPECT_THAT(pods_of("gpu-1"), ElementsAre("GPU-1 b"));
  EXPECT_EQ(gpus->holds["gpu-0"].state, "state of gpu-0") << "it is the same device";
  restart();
  EXPECT_TRUE(restore());
  EXPECT_TRUE(offered("gpu-0") && offered("gpu-1"));
  EXPECT_EQ(given("gpu-0"), "GPU-0");
  EXPECT_EQ(gpus->count<PrepareCall>(), 4);
}

TEST_F(RenumberedResourcesTest, ACrashDuringTheRestoreChangesNothing) {
  hand_out_both();
  swap();
  reboot();
  gpus->fail<PrepareCall>({Code::kInternal, "no"});
  EXPECT_FALSE(restore());
  restart();
  EXPECT_TRUE(offered("gpu-0") && offered("gpu-1"));
  ASSERT_TRUE(restore());
  EXPECT_EQ(given("gpu-0"), "GPU-0");
  EXPECT_EQ(given("gpu-1"), "GPU-1");
}

TEST_F(RenumberedResourcesTest, APodThatStartsAgainGetsItsDeviceByItsId) {
  hand_out_both();
  swap();
  reboot();
  const auto granted = allocate({"GPU-0"});
  ASSERT_TRUE(granted) << granted.error().message;
  EXPECT_THAT(granted->cdi_devices, ElementsAre(kGpu0));
  EXPECT_EQ(given("gpu-0"), "GPU-0");
}

TEST_F(RenumberedResourcesTest, ADeadCardCostsItsOwnIdOnly) {
  hand_out_both();
  directory.renumber({"gpu-0", "gpu-1"}, {"GPU-1", "GPU-2"});  // GPU-0 has failed
  directory.lose_device("gpu-2");
  reboot();
  EXPECT_FALSE(restore());
  EXPECT_EQ(given("gpu-0"), "nothing");
  EXPECT_EQ(given("gpu-1"), "GPU-1");
  EXPECT_TRUE(offered("gpu-0"));
  EXPECT_TRUE(offered("gpu-1")) << "a pod has a CDI device with this name, but another device";
  const auto granted = allocate({"GPU-2"});
  ASSERT_TRUE(granted) << granted.error().message;
  ASSERT_THAT(granted->cdi_devices, SizeIs(1));
  const std::string uid = granted->cdi_devices[0].substr(granted->cdi_devices[0].find('=') + 1);
  EXPECT_THAT(uid, AllOf(HasSubstr("gpu-1-"), ::testing::Ne("gpu-1")));
  EXPECT_EQ(given(uid), "GPU-2");
  EXPECT_EQ(given("gpu-1"), "GPU-1");
  restart();
  EXPECT_EQ(allocate({"GPU-2"})->cdi_devices, granted->cdi_devices);
  ASSERT_TRUE(release("GPU-0"));
  ASSERT_TRUE(release("GPU-1"));
  ASSERT_TRUE(release("GPU-2"));
  EXPECT_THAT(ledger->claims(), IsEmpty());
  EXPECT_THAT(*cdi.list(), IsEmpty());
  let_the_pod_run();
  EXPECT_THAT(allocate({"GPU-2"})->cdi_devices, ElementsAre("cardcage.example.com_gpu/device=gpu-1"));
}

TEST_F(RenumberedResourcesTest, APodThatWasDeletedMeanwhileGivesBackItsOwnDevice) {
  hand_out_both();
  swap();
  reboot();
  std::vector<std::string> released;
  gpus->touch = [&](std::string_view call, const ModuleClaim& claim) {
    if (call == UnprepareCall::kName) released.push_back(claim.allocations.at(0).device_id);
  };
  ASSERT_TRUE(release("GPU-1"));
  EXPECT_THAT(released, ElementsAre("GPU-1"));
  ASSERT_TRUE(restore());
  EXPECT_EQ(given("gpu-0"), "GPU-0");
  EXPECT_EQ(given("gpu-1"), "nothing");
  ASSERT_TRUE(allocate({"GPU-1"})) << "its name is in the record of GPU-0";
  EXPECT_EQ(given("gpu-0"), "GPU-0");
}

TEST_F(RenumberedResourcesTest, ReplicasKeepTheirDevice) {
  serve({.replicas = 2});
  ASSERT_TRUE(allocate({"GPU-0::0", "GPU-1::0"}));
  swap();
  reboot();
  serve({.replicas = 2});
  ASSERT_TRUE(restore());
  ASSERT_TRUE(allocate({"GPU-0::1"}));
  EXPECT_THAT(pods_of("gpu-0"), UnorderedElementsAre("GPU-0::0 ", "GPU-0::1 "));
  EXPECT_EQ(given("gpu-0"), "GPU-0");
}

// The kubelet does not know other drivers, and does not call again for its pods.
TEST_F(RenumberedResourcesTest, APromisedDeviceIsGivenToNoClaimAfterAReboot) {
  hand_out_both();
  swap();
  reboot();
  EXPECT_EQ(prepare_new("u1", {an_allocation("gpu-1")}).error().code, Code::kAlreadyExists);
  ASSERT_TRUE(release("GPU-0"));
  EXPECT_TRUE(prepare("u1"));
}

TEST_F(RenumberedResourcesTest, AClaimOfAnEarlierBootKeepsNoDeviceFromPods) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  EXPECT_FALSE(offered("gpu-0"));
  reboot();
  EXPECT_TRUE(offered("gpu-0"));
  EXPECT_TRUE(allocate({"GPU-0"}));
}

// -- in one boot -----------------------------------------------------------------------------------------------------

TEST_F(RenumberedResourcesTest, ADeviceThatTookOverANameIsNotGivenOutBeforeTheOtherOneIsReleased) {
  hand_out_both();
  directory.renumber({"gpu-1"}, {"GPU-Z"});
  const auto why = unavailable(directory.device("gpu-1"));
  ASSERT_TRUE(why);
  EXPECT_THAT(why->message, AllOf(HasSubstr("GPU-1"), HasSubstr("gpu-1")));
  const auto granted = allocate({"GPU-Z"});
  EXPECT_EQ(granted.error().code, Code::kAlreadyExists);
  EXPECT_THAT(granted.error().message, HasSubstr("GPU-1"));
  EXPECT_EQ(given("gpu-1"), "GPU-1");
  EXPECT_THAT(pods_of("gpu-1"), ElementsAre("GPU-1 b"));
  advance_at_rest(std::chrono::minutes(10));
  ASSERT_TRUE(release("GPU-1"));
  EXPECT_TRUE(offered("gpu-1"));
  ASSERT_TRUE(allocate({"GPU-Z"}));
  EXPECT_EQ(given("gpu-1"), "GPU-Z");
}

TEST_F(RenumberedResourcesTest, NorToAClaim) {
  hand_out_both();
  directory.renumber({"gpu-1"}, {"GPU-Z"});
  EXPECT_EQ(prepare_new("u1", {an_allocation("gpu-1")}).error().code, Code::kAlreadyExists);
}

}  // namespace
}  // namespace cardcage
