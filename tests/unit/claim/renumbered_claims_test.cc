// Claims whose devices have new names: the kernel has renumbered them, or a device took over the name of a device that
// is gone.
#include <gmock/gmock.h>

#include "host/claim/conflicts.h"
#include "host/core/fault_point.h"
#include "tests/unit/claim/claim_world.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RenumberedClaimsTest : public ClaimWorld {
 protected:
  // Prepares claim "a" with gpu-0 and "b" with gpu-1.
  void prepare_both() {
    ASSERT_TRUE(prepare_new("a", {an_allocation("gpu-0")}));
    ASSERT_TRUE(prepare_new("b", {an_allocation("gpu-1")}));
  }
  void swap() { directory.renumber({"gpu-0", "gpu-1"}, {"GPU-1", "GPU-0"}); }
  void reboot_swapped() {
    prepare_both();
    if (HasFatalFailure()) return;
    swap();
    reboot();
  }
  std::string id_of(const std::string& uid) const { return record(uid)->parts[0].devices[0].device_id; }
  // The device of the last call to the module.
  std::string held_by(const std::string& uid) const {
    const auto claim = gpus->holds.find(uid);
    return claim == gpus->holds.end() ? "nothing" : claim->second.allocations.at(0).device_id;
  }
  std::vector<std::string> holders(const std::string& device) {
    const HeldDevice held{.allocation = an_allocation(device), .device_id = directory.device(device).id};
    std::vector<std::string> uids;
    for (const auto& holder : claims_holding("gpus", held, *ledger)) uids.push_back(holder->ref.uid);
    return uids;
  }
  bool listed_replaced(const std::string& device) {
    const HeldDevice held{.allocation = an_allocation(device), .device_id = directory.device(device).id};
    return find_name_conflict({}, "gpus", held, *ledger).has_value();
  }
};

// -- after a reboot --------------------------------------------------------------------------------------------------

TEST_F(RenumberedClaimsTest, AfterARebootAClaimGetsWhatItsNameMeansNow) {
  reboot_swapped();
  EXPECT_THAT(holders("gpu-0"), IsEmpty()) << "the boot has reset the hardware";
  const auto a = prepare("a");
  ASSERT_TRUE(a) << a.error().message;
  EXPECT_EQ(held_by("a"), "GPU-1");
  EXPECT_THAT(holders("gpu-0"), ElementsAre("a"));
  EXPECT_THAT(holders("gpu-1"), IsEmpty());
  const auto b = prepare("b");
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ(held_by("b"), "GPU-0");
  EXPECT_EQ(a->at(0).device, "gpu-0");
  EXPECT_EQ(b->at(0).device, "gpu-1");
  EXPECT_THAT(cdi_text("a"), HasSubstr("=GPU-1\""));
  EXPECT_THAT(cdi_text("b"), HasSubstr("=GPU-0\""));
  EXPECT_EQ(gpus->count<UnprepareCall>(), 0) << "a claim may have got the device meanwhile";
}

TEST_F(RenumberedClaimsTest, TheOrderOfThePodsDoesNotMatter) {
  reboot_swapped();
  ASSERT_TRUE(prepare("b"));
  ASSERT_TRUE(prepare("a"));
  EXPECT_EQ(held_by("a"), "GPU-1");
  EXPECT_EQ(held_by("b"), "GPU-0");
}

TEST_F(RenumberedClaimsTest, TheStateOfADeviceDoesNotGoToAnotherOne) {
  reboot_swapped();
  ASSERT_TRUE(prepare("a"));
  EXPECT_EQ(gpus->holds["a"].state, "");
  reboot();
  ASSERT_TRUE(prepare("a"));
  EXPECT_EQ(gpus->holds["a"].state, "state of a") << "the device is the same one";
  EXPECT_TRUE(gpus->holds["a"].other_boot);
  start();
  gpus->fail<UnprepareCall>({Code::kInternal, "no"});
  unprepare("a");
  bool other_boot = true;
  gpus->touch = [&](std::string_view, const ModuleClaim& claim) { other_boot = claim.other_boot; };
  ASSERT_TRUE(unprepare("a"));
  EXPECT_FALSE(other_boot) << "it was prepared in this boot";
}

TEST_F(RenumberedClaimsTest, AClaimWhoseNameIsGoneIsNotOnThisNode) {
  prepare_both();
  directory.renumber({"gpu-0"}, {"GPU-1"});
  directory.lose_device("gpu-1");
  reboot();
  const auto b = prepare("b");
  EXPECT_EQ(b.error().code, Code::kNotFound) << text_of(b);
  ASSERT_TRUE(prepare("a"));
  EXPECT_EQ(held_by("a"), "GPU-1");
  EXPECT_EQ(prepare("b").error().code, Code::kNotFound);
  EXPECT_THAT(holders("gpu-0"), ElementsAre("a"));
}

TEST_F(RenumberedClaimsTest, ARestartInTheNewBootKeepsTheNewHolder) {
  reboot_swapped();
  ASSERT_TRUE(prepare("a"));
  start();
  EXPECT_TRUE(has_cdi_file("a"));
  EXPECT_FALSE(has_cdi_file("b"));
  EXPECT_THAT(holders("gpu-0"), ElementsAre("a"));
  EXPECT_EQ(prepare_new("c", {an_allocation("gpu-0")}).error().code, Code::kAlreadyExists);
  ASSERT_TRUE(prepare("b"));
  start();
  EXPECT_EQ(id_of("a"), "GPU-1");
  EXPECT_EQ(id_of("b"), "GPU-0");
  ASSERT_TRUE(unprepare("a"));
  ASSERT_TRUE(unprepare("b"));
  EXPECT_THAT(gpus->holds, IsEmpty());
}

TEST_F(RenumberedClaimsTest, AnIntentOfTheNewBootHolds) {
  reboot_swapped();
  gpus->fail<PrepareCall>({Code::kInternal, "no"});
  ASSERT_FALSE(prepare("a"));
  start();  // as after kill -9
  EXPECT_EQ(prepare_new("c", {an_allocation("gpu-0")}).error().code, Code::kAlreadyExists);
  ASSERT_TRUE(prepare("b"));
  ASSERT_TRUE(prepare("a"));
  EXPECT_EQ(held_by("a"), "GPU-1");
}

TEST_F(RenumberedClaimsTest, AClaimThatWasDeletedMeanwhileIsReleasedFirst) {
  reboot_swapped();
  std::vector<std::string> released;
  gpus->touch = [&](std::string_view call, const ModuleClaim& claim) {
    if (call != UnprepareCall::kName) return;
    EXPECT_TRUE(claim.other_boot);
    released.push_back(claim.allocations.at(0).device_id);
  };
  ASSERT_TRUE(unprepare("b"));
  EXPECT_THAT(released, ElementsAre("GPU-1")) << "by the id: the name is of another device now";
  ASSERT_TRUE(prepare("a"));
  EXPECT_EQ(held_by("a"), "GPU-1");
}

TEST_F(RenumberedClaimsTest, AClaimThatWasDeletedMeanwhileKeepsItsFormerDeviceFromNobody) {
  reboot_swapped();
  ASSERT_TRUE(prepare("a"));
  ASSERT_TRUE(unprepare("b"));
  EXPECT_EQ(gpus->count<UnprepareCall>(), 0) << "claim a uses the device";
  EXPECT_EQ(record("b"), nullptr);
  EXPECT_EQ(held_by("a"), "GPU-1");
  EXPECT_THAT(*run(ledger->history({})), SizeIs(1));
  ASSERT_TRUE(prepare_new("c", {an_allocation("gpu-1")})) << "the scheduler gives its name to another claim";
  EXPECT_EQ(held_by("c"), "GPU-0");
}

TEST_F(RenumberedClaimsTest, NoClaimGetsADeviceThatIsBeingReleased) {
  reboot_swapped();
  gpus->block<UnprepareCall>();
  const auto released = begin(preparer->unprepare(ref_of("b"), soon()));
  ASSERT_TRUE(until([&] { return record("b")->phase == ClaimPhase::kUnpreparing; }));
  EXPECT_EQ(prepare("a").error().code, Code::kAlreadyExists);
  gpus->unblock<UnprepareCall>();
  ASSERT_TRUE(until([&] { return released->has_value(); }));
  EXPECT_TRUE(prepare("a")) << "the kubelet retries";
}

TEST_F(RenumberedClaimsTest, PartitionsAndCountersOfAnEarlierBootAreFree) {
  directory.device("gpu-1").parent_id = "GPU-0";
  directory.counter_sets["memory"] = {{"gib", {.value = 80}}};
  for (const char* name : {"gpu-2", "gpu-3"})
    directory.device(name).consumes = {{.set = "memory", .counters = {{"gib", {.value = 60}}}}};
  ASSERT_TRUE(prepare_new("part", {an_allocation("gpu-1")}));
  ASSERT_TRUE(prepare_new("most", {an_allocation("gpu-2")}));
  EXPECT_FALSE(prepare_new("whole", {an_allocation("gpu-0")}));
  EXPECT_FALSE(prepare_new("more", {an_allocation("gpu-3")}));
  reboot();
  EXPECT_TRUE(prepare("whole"));
  EXPECT_TRUE(prepare("more"));
  EXPECT_EQ(prepare("part").error().code, Code::kAlreadyExists);
  EXPECT_EQ(prepare("most").error().code, Code::kAlreadyExists);
}

// -- in one boot -----------------------------------------------------------------------------------------------------

TEST_F(RenumberedClaimsTest, ADeviceThatTookOverANameIsNotGivenOutBeforeTheOtherOneIsReleased) {
  prepare_both();
  directory.renumber({"gpu-1"}, {"GPU-Z"});
  EXPECT_THAT(holders("gpu-1"), IsEmpty());
  EXPECT_TRUE(listed_replaced("gpu-1"));
  EXPECT_FALSE(listed_replaced("gpu-0"));
  const auto c = prepare_new("c", {an_allocation("gpu-1")});
  EXPECT_EQ(c.error().code, Code::kAlreadyExists);
  EXPECT_THAT(text_of(c), AllOf(HasSubstr("GPU-1"), HasSubstr("team/claim-b")));
  EXPECT_TRUE(prepare("b")) << "the kubelet repeats its calls";
  EXPECT_EQ(id_of("b"), "GPU-1");
  ASSERT_TRUE(unprepare("b"));
  EXPECT_FALSE(listed_replaced("gpu-1"));
  ASSERT_TRUE(prepare("c"));
  EXPECT_EQ(held_by("c"), "GPU-Z");
}

TEST_F(RenumberedClaimsTest, NeitherDoesAShareOfIt) {
  Allocation one = an_allocation("gpu-1"), other = an_allocation("gpu-1");
  one.share_id = "11111111-1111-1111-1111-111111111111";
  other.share_id = "22222222-2222-2222-2222-222222222222";
  ASSERT_TRUE(prepare_new("b", {one}));
  directory.renumber({"gpu-1"}, {"GPU-Z"});
  EXPECT_EQ(prepare_new("c", {other}).error().code, Code::kAlreadyExists);
}

TEST_F(RenumberedClaimsTest, NorAPartitionOfIt) {
  prepare_both();
  directory.renumber({"gpu-1"}, {"GPU-Z"});
  directory.device("gpu-2").parent_id = "GPU-Z";
  EXPECT_EQ(prepare_new("c", {an_allocation("gpu-2")}).error().code, Code::kAlreadyExists);
}

TEST_F(RenumberedClaimsTest, AnUnfinishedPrepareIsUndoneOnTheDeviceThatItWasFor) {
  gpus->fail<PrepareCall>({Code::kInternal, "no"});
  ASSERT_FALSE(prepare_new("b", {an_allocation("gpu-1")}));
  directory.renumber({"gpu-1"}, {"GPU-Z"});
  std::vector<std::string> released;
  gpus->touch = [&](std::string_view call, const ModuleClaim& claim) {
    if (call == UnprepareCall::kName) released.push_back(claim.allocations.at(0).device_id);
  };
  ASSERT_TRUE(prepare("b"));
  EXPECT_THAT(released, ElementsAre("GPU-1"));
  EXPECT_EQ(held_by("b"), "GPU-Z");
}

TEST_F(RenumberedClaimsTest, AClaimOfAModuleThatWasRenamedIsReleasedById) {
  prepare_both();
  const auto renamed = std::make_shared<FakeModule>(core);
  directory.drop_module("gpus");
  directory.add("cards", renamed, "gpu", 2);
  directory.renumber({"gpu-1"}, {"GPU-Z"});
  std::vector<std::string> released;
  renamed->touch = [&](std::string_view, const ModuleClaim& claim) {
    released.push_back(claim.allocations.at(0).device_id);
  };
  ASSERT_TRUE(unprepare("b"));
  EXPECT_THAT(released, ElementsAre("GPU-1"));
}

}  // namespace
}  // namespace cardcage
