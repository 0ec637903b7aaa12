// Devices of one claim whose edits are combined in one container.
#include <gmock/gmock.h>

#include "tests/unit/claim/claim_world.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using CombinedDevicesTest = ClaimWorld;

TEST_F(CombinedDevicesTest, DevicesWithTwoValuesOfOneVariableAreRefusedUntilTheyAreApart) {
  gpus->edits = [](const ModuleClaim& claim) {
    PreparedEdits edits;
    for (const ModuleAllocation& device : claim.allocations)
      edits.allocations.push_back({.env = {{"MODE", "mode of " + device.device_id}}});
    return edits;
  };
  EXPECT_THAT(
      text_of(prepare_new("u1", {an_allocation("gpu-0"), an_allocation("gpu-1", "other")})),
      HasSubstr("devices 'gpu-0' and 'gpu-1' give the environment variable 'MODE' the values 'mode of GPU-0' and "
                "'mode of GPU-1'; "));
  EXPECT_FALSE(has_cdi_file("u1"));
  ASSERT_TRUE(unprepare("u1"));
  EXPECT_TRUE(prepare_new("u2", {an_allocation("gpu-0")}));
  EXPECT_TRUE(prepare_new("u3", {an_allocation("gpu-1")}));
}

TEST_F(CombinedDevicesTest, ListsOfAllDevicesOfAClaimAreJoined) {
  const auto list = [](const ModuleClaim& claim) {
    PreparedEdits edits;
    for (const ModuleAllocation& device : claim.allocations)
      edits.allocations.push_back({.env_lists = {{"CARDS", device.device_id}}});
    return edits;
  };
  gpus->edits = nics->edits = list;
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-1"), an_allocation("nic-0", "net"), an_allocation("gpu-0")}));
  const CdiSpec spec = cdi_spec(*record("u1"));
  EXPECT_THAT(spec.edits.env, ElementsAre(EnvVar{"CARDS", "GPU-0,GPU-1,NIC-0"}));
  for (const CdiDevice& device : spec.devices)
    for (const EnvVar& variable : device.edits.env)
      EXPECT_NE(variable.name, "CARDS") << "the last device would replace the value";
}

}  // namespace
}  // namespace cardcage
