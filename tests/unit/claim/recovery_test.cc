#include "host/claim/recovery.h"

#include <gmock/gmock.h>

#include "tests/unit/claim/claim_world.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using RecoveryTest = ClaimWorld;

TEST_F(RecoveryTest, AStartRestoresFilesAndTellsModulesTheirClaims) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0"), an_allocation("nic-0")}));
  ASSERT_TRUE(prepare_new("u2", {an_allocation("gpu-1")}));
  std::filesystem::remove(cdi.folder() / claim_file_name({Api::kDra, kDriver}, "u1"));
  ASSERT_TRUE(cdi.write(kDriver, "orphan", cdi_spec(a_record("orphan"))));
  start();
  EXPECT_TRUE(has_cdi_file("u1"));
  EXPECT_TRUE(has_cdi_file("u2"));
  EXPECT_FALSE(has_cdi_file("orphan"));
  const auto live = live_claims(*ledger, directory, "gpus");
  ASSERT_THAT(live, SizeIs(2));
  EXPECT_EQ(live[0].ref, ref_of("u1"));
  EXPECT_EQ(live[0].state, "state of u1");
  EXPECT_THAT(live[0].allocations, SizeIs(1));
  EXPECT_THAT(live_claims(*ledger, directory, "nics"), SizeIs(1));
  EXPECT_THAT(live_claims(*ledger, directory, "other"), IsEmpty());
}

TEST_F(RecoveryTest, ClaimsOfALostLedgerAreRebuiltFromTheirFiles) {
  const auto first = prepare_new("u1", {an_allocation("gpu-0"), an_allocation("nic-0")});
  ASSERT_TRUE(prepare_new("u2", {an_allocation("gpu-1")}));
  lose_ledger();
  start();
  EXPECT_TRUE(has_cdi_file("u1")) << "containers may still start with it";
  EXPECT_THAT(live_claims(*ledger, directory, "gpus"), SizeIs(2)) << "running pods keep their devices";
  EXPECT_EQ(prepare_new("u3", {an_allocation("gpu-1")}).error().code, Code::kAlreadyExists);
  EXPECT_EQ(prepare("u1"), first);
  EXPECT_EQ(gpus->count<PrepareCall>(), 3) << "prepared again: its state is lost";
  ASSERT_TRUE(unprepare("u2"));
  EXPECT_EQ(gpus->holds.count("u2"), 0u);
  EXPECT_TRUE(prepare("u3"));
  directory.lose_device("nic-0");
  ASSERT_TRUE(unprepare("u1")) << "a prepared claim needs no directory entry";
}

TEST_F(RecoveryTest, ARebuiltClaimIsKeptWhileItsDeviceIsMissing) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  lose_ledger();
  start();
  directory.lose_device("gpu-0");
  EXPECT_THAT(text_of(unprepare("u1")), HasSubstr("cannot tell which module holds its devices: no module reports it"));
  EXPECT_NE(record("u1"), nullptr);
}

TEST_F(RecoveryTest, AMissingDeviceDoesNotHideThePartsOfOtherModules) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0"), an_allocation("nic-0")}));
  lose_ledger();
  start();
  directory.drop_module("nics");  // as before it has listed its devices
  EXPECT_THAT(live_claims(*ledger, directory, "gpus"), SizeIs(1));
}

TEST_F(RecoveryTest, ClaimsFollowAModuleThatWasRenamed) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  ASSERT_TRUE(prepare_new("u2", {an_allocation("gpu-1")}));
  directory.drop_module("gpus");
  directory.add("accelerators", gpus, "gpu", 100);
  start();
  const auto live = live_claims(*ledger, directory, "accelerators");
  ASSERT_THAT(live, SizeIs(2));
  EXPECT_EQ(live[0].state, "state of u1");
  EXPECT_THAT(text_of(prepare_new("u3", {an_allocation("gpu-0")})), HasSubstr("is prepared for claim team/claim-u1"));
  EXPECT_TRUE(unprepare("u1"));
  EXPECT_TRUE(prepare("u3"));
  directory.drop_module("accelerators");
  EXPECT_THAT(text_of(unprepare("u2")), HasSubstr("cannot tell which module holds its devices"));
}

}  // namespace
}  // namespace cardcage
