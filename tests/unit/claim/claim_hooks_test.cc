// The hooks that the host adds to the edits of containers.
#include <gmock/gmock.h>

#include "tests/unit/claim/claim_world.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using ClaimHooksTest = ClaimWorld;

TEST_F(ClaimHooksTest, AHookAsksForDevicesThatTheRuntimeDoesNotMove) {
  gpus->about.families.add(Family::kSandbox);
  gpus->edits = [](const ModuleClaim& claim) {
    PreparedEdits edits;
    edits.allocations.resize(claim.allocations.size());
    edits.allocations[0].net_devices = {{"eth1", "net1"}};
    return edits;
  };
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  EXPECT_THAT(cdi_spec(*ledger->find({kDriver, "u1"})).edits.hooks, IsEmpty());
  ASSERT_TRUE(prepare_new("u2", {an_allocation("gpu-1"), an_allocation("gpu-2")}));
  EXPECT_THAT(cdi_spec(*ledger->find({kDriver, "u2"})).edits.hooks,
              ElementsAre(host.sandbox_hook({.driver = kDriver, .uid = "u2"})));
}

TEST_F(ClaimHooksTest, HooksRaiseTheLimitsOfLockedMemory) {
  gpus->edits = [](const ModuleClaim&) {
    PreparedEdits edits;
    edits.claim.locked_memory = {4096};
    edits.allocations.resize(1);
    edits.allocations[0].locked_memory = {8192};
    return edits;
  };
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  const CdiSpec spec = cdi_spec(*ledger->find({kDriver, "u1"}));
  EXPECT_THAT(spec.edits.hooks, ElementsAre(host.memory_hook(4096)));
  EXPECT_THAT(spec.devices.front().edits.hooks, ElementsAre(host.memory_hook(8192)));
}

TEST_F(ClaimHooksTest, WithoutTheProgramOfTheHookOnlyClaimsThatNeedItFail) {
  host.ready = fail(Code::kFailedPrecondition, "the file system of /hooks is mounted noexec");
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  gpus->edits = [](const ModuleClaim&) {
    PreparedEdits edits;
    edits.claim.locked_memory = {4096};
    return edits;
  };
  const auto refused = prepare_new("u2", {an_allocation("gpu-1")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(),
            (Error{Code::kFailedPrecondition, "claim team/claim-u2: the file system of /hooks is mounted noexec"}));
  EXPECT_FALSE(has_cdi_file("u2"));
  host.ready = {};
  ASSERT_TRUE(prepare("u2"));
  EXPECT_THAT(cdi_spec(*record("u2")).edits.hooks, ElementsAre(host.memory_hook(4096)));
}

}  // namespace
}  // namespace cardcage
