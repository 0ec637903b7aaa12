#include "host/pods/pod_holders.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

const ResourceDevice kCard{"example.com/fpga", "fpga-3"};
const PodContainer kTrainer{"ml", "trainer", "main", ""}, kOther{"ml", "other", "main", ""};

class PodHoldersTest : public ::testing::Test {
 protected:
  static Instant at(Duration time) { return Instant(1h) + time; }
  static HandedOutDevice card(Duration allocated, bool seen = false) {
    return {.device = kCard, .allocated = at(allocated), .seen = seen};
  }
  // No pod holds a device.
  PodHolders::Findings look_without_pods(Duration began, std::vector<HandedOutDevice> handed_out) {
    return judge(began, {}, std::move(handed_out));
  }
  PodHolders::Findings judge(Duration began, std::vector<PodHolding> holdings,
                             std::vector<HandedOutDevice> handed_out) {
    return holders.judge({at(began), std::move(holdings)}, handed_out, {"example.com/fpga"});
  }

  PodHolders holders;
};

TEST_F(PodHoldersTest, OneListWithoutTheDeviceIsNotEnough) {
  const auto first = look_without_pods(10s, {card(0s, true)});
  EXPECT_THAT(first.absent, IsEmpty());
  EXPECT_EQ(first.confirm, at(11s));
  const auto soon = look_without_pods(10'999ms, {card(0s, true)});
  EXPECT_THAT(soon.absent, IsEmpty()) << "two lists within a second";
  EXPECT_EQ(soon.confirm, at(11s));
  const auto second = look_without_pods(11s, {card(0s, true)});
  ASSERT_EQ(second.absent.size(), 1);
  EXPECT_EQ(second.absent[0].device, card(0s, true));
  EXPECT_EQ(second.absent[0].until - second.absent[0].since, 1s);
  EXPECT_FALSE(second.confirm);
}

TEST_F(PodHoldersTest, ADeviceThatIsListedAgainIsNotAbsent) {
  (void)look_without_pods(10s, {card(0s, true)});
  EXPECT_THAT(judge(11s, {{kCard, kTrainer}}, {card(0s, true)}).absent, IsEmpty());
  EXPECT_THAT(look_without_pods(12s, {card(0s, true)}).absent, IsEmpty());
  EXPECT_EQ(look_without_pods(13s, {card(0s, true)}).absent.size(), 1);
}

TEST_F(PodHoldersTest, AListProvesNothingDuringAnAllocate) {
  auto allocating = card(0s, true);
  allocating.allocating = true;
  (void)look_without_pods(10s, {card(0s, true)});
  EXPECT_THAT(look_without_pods(12s, {allocating}).absent, IsEmpty());
  EXPECT_THAT(look_without_pods(14s, {card(0s, true)}).absent, IsEmpty()) << "the first list after the Allocate";
  // Another Allocate ended after the last list and before the next one.
  EXPECT_THAT(look_without_pods(16s, {card(15s)}).absent, IsEmpty());
  EXPECT_EQ(look_without_pods(17s, {card(15s)}).absent.size(), 1);
}

TEST_F(PodHoldersTest, AListThatBeganBeforeTheEndOfAnAllocateProvesNothing) {
  const auto early = judge(10s, {{kCard, kOther}}, {card(10s)});
  EXPECT_THAT(early.seen, IsEmpty()) << "that may be the earlier pod";
  EXPECT_EQ(early.confirm, at(11s));
  EXPECT_THAT(look_without_pods(9s, {card(10s)}).absent, IsEmpty());
  EXPECT_THAT(look_without_pods(11s, {card(10s)}).absent, IsEmpty());
  EXPECT_EQ(look_without_pods(12s, {card(10s)}).absent.size(), 1);
}

TEST_F(PodHoldersTest, AHolderIsReportedOncePerAllocate) {
  const auto first = judge(1s, {{kCard, kTrainer}}, {card(0s)});
  ASSERT_EQ(first.seen.size(), 1);
  EXPECT_EQ(first.seen[0].device, kCard);
  EXPECT_EQ(first.seen[0].holder, kTrainer);
  EXPECT_THAT(judge(2s, {{kCard, kTrainer}}, {card(0s, true)}).seen, IsEmpty());
  EXPECT_EQ(judge(3s, {{kCard, kTrainer}}, {card(0s)}).seen.size(), 1) << "it is reported again until it is recorded";
  EXPECT_EQ(judge(5s, {{kCard, kTrainer}}, {card(4s)}).seen.size(), 1);
  EXPECT_THAT(judge(6s, {{kCard, kOther}, {kCard, kTrainer}}, {card(4s, true)}).seen, IsEmpty());
  const auto changed = judge(7s, {{kCard, kOther}}, {card(4s, true)});
  ASSERT_EQ(changed.seen.size(), 1);
  EXPECT_EQ(changed.seen[0].holder, kOther);
}

TEST_F(PodHoldersTest, APodThatHasEndedIsNotTheHolderEvenIfAnOldKubeletListsIt) {
  const PodContainer later{"ml", "zebra", "main", ""};
  (void)judge(1s, {{kCard, kOther}}, {card(0s)});
  for (const auto& holder : {kTrainer, later}) {
    PodHolders copy = holders;
    const auto both = copy.judge({at(6s), {{kCard, kOther}, {kCard, holder}}}, {card(5s)}, {"example.com/fpga"});
    ASSERT_EQ(both.seen.size(), 1);
    EXPECT_EQ(both.seen[0].holder, holder);
  }
  (void)judge(6s, {{kCard, kOther}}, {card(5s)});
  EXPECT_THAT(judge(8s, {{kCard, kOther}}, {card(5s, true)}).seen, IsEmpty()) << "the same pod got the device again";
}

TEST_F(PodHoldersTest, AnUnknownHoldingIsAdoptedAfterTwoLists) {
  const auto first = judge(1s, {{kCard, kTrainer}}, {});
  EXPECT_THAT(first.strange, IsEmpty());
  EXPECT_EQ(first.confirm, at(2s));
  EXPECT_THAT(judge(1'500ms, {{kCard, kTrainer}}, {}).strange, IsEmpty());
  const auto second = judge(2s, {{kCard, kTrainer}}, {});
  ASSERT_EQ(second.strange.size(), 1);
  EXPECT_EQ(second.strange[0].device, kCard);
  EXPECT_EQ(second.strange[0].holder, kTrainer);
  EXPECT_THAT(judge(3s, {{kCard, kTrainer}}, {card(2s, true)}).strange, IsEmpty()) << "done";
  EXPECT_THAT(judge(4s, {{kCard, kTrainer}}, {}).strange, IsEmpty()) << "the count starts again";
  (void)look_without_pods(4'500ms, {});
  EXPECT_THAT(judge(5s, {{kCard, kTrainer}}, {}).strange, IsEmpty()) << "it was gone in between";
}

TEST_F(PodHoldersTest, OtherResourcesAreIgnored) {
  const ResourceDevice foreign{"other.example.com/nic", "fpga-3"};
  (void)judge(1s, {{foreign, kTrainer}}, {});
  EXPECT_THAT(judge(3s, {{foreign, kTrainer}}, {}).strange, IsEmpty());
  EXPECT_EQ(judge(3s, {{foreign, kTrainer}}, {card(0s)}).seen.size(), 0);
}

TEST_F(PodHoldersTest, ADeviceThatTheLedgerForgetsLeavesNoEvidence) {
  (void)look_without_pods(10s, {card(0s, true)});
  (void)look_without_pods(11s, {});
  EXPECT_THAT(look_without_pods(12s, {card(0s, true)}).absent, IsEmpty());
}

TEST_F(PodHoldersTest, TheCheckpointDecidesAboutTheRelease) {
  const AbsentDevice seen{card(0s, true), at(10s), at(11s)};
  EXPECT_TRUE(PodHolders::may_release(seen, CheckpointVerdict::kFree));
  EXPECT_FALSE(PodHolders::may_release(seen, CheckpointVerdict::kHeld));
  EXPECT_FALSE(PodHolders::may_release(seen, CheckpointVerdict::kUnknown));
  const AbsentDevice long_gone{card(0s, true), at(10s), at(310s)};
  EXPECT_FALSE(PodHolders::may_release(long_gone, CheckpointVerdict::kHeld)) << "an init container may run for hours";
  EXPECT_TRUE(PodHolders::may_release(long_gone, CheckpointVerdict::kUnknown));
}

TEST_F(PodHoldersTest, ADeviceWithoutAKnownPodWaitsForTheAdmission) {
  EXPECT_FALSE(PodHolders::may_release({card(0s), at(10s), at(29s)}, CheckpointVerdict::kFree));
  EXPECT_TRUE(PodHolders::may_release({card(0s), at(10s), at(30s)}, CheckpointVerdict::kFree));
  EXPECT_FALSE(PodHolders::may_release({card(0s), at(10s), at(309s)}, CheckpointVerdict::kUnknown));
  EXPECT_TRUE(PodHolders::may_release({card(0s), at(10s), at(310s)}, CheckpointVerdict::kUnknown));
}

}  // namespace
}  // namespace cardcage
