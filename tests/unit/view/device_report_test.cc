#include "host/view/device_report.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using ::testing::ElementsAre;

std::shared_ptr<const ClaimRecord> record(ClaimRecord value) {
  return std::make_shared<const ClaimRecord>(std::move(value));
}

TEST(DeviceReportTest, HealthIsACondition) {
  EXPECT_EQ(health_condition({.state = HealthState::kHealthy}), (Condition{Level::kGood, "healthy", ""}));
  EXPECT_EQ(health_condition({.state = HealthState::kUnhealthy, .message = "fell off the bus"}),
            (Condition{Level::kBad, "unhealthy", "fell off the bus"}));
  EXPECT_EQ(health_condition({.state = HealthState::kUnmonitored}), (Condition{Level::kGood, "unmonitored", ""}));
  EXPECT_EQ(health_condition({.state = HealthState::kDegraded, .message = "clocks are throttled"}),
            (Condition{Level::kInProgress, "degraded", "clocks are throttled"}));
  EXPECT_EQ(health_condition({}), (Condition{Level::kInProgress, "unknown", ""}));
}

TEST(DeviceReportTest, ATaintHasAWord) {
  EXPECT_EQ(taint_word(TaintEffect::kNone), "none");
  EXPECT_EQ(taint_word(TaintEffect::kInform), "Inform");
  EXPECT_EQ(taint_word(TaintEffect::kNoSchedule), "NoSchedule");
  EXPECT_EQ(taint_word(TaintEffect::kNoExecute), "NoExecute");
}

TEST(DeviceReportTest, AClaimHoldsADeviceOfADriver) {
  const auto holders = device_holders({record({.driver = "gpu.example.com", .ref = {"default", "training", "uid-1"}})});
  ASSERT_EQ(holders.size(), 1u);
  EXPECT_EQ(holders[0].name, "training");
  EXPECT_EQ(holders[0].uid, "uid-1");
}

TEST(DeviceReportTest, PodsHoldADeviceOfAResource) {
  ClaimRecord fpga{.driver = "example.com/fpga", .ref = {"", "", "fpga-0"}};
  HeldDevice held;
  held.holders = {{"fpga-0::0", "default", "encoder", "main", {}}, {"fpga-0::1", "default", "decoder", "main", {}}};
  fpga.parts = {{.module = "fpga", .devices = {held}}};
  std::vector<std::string> pods;
  for (const ClaimRef& holder : device_holders({record(fpga)})) pods.push_back(holder.name + " " + holder.uid);
  EXPECT_THAT(pods, ElementsAre("encoder fpga-0::0", "decoder fpga-0::1"));
}

TEST(DeviceReportTest, ADeviceOfAClaimIsUsedByItsOnlyContainer) {
  const auto claim = record({.driver = "gpu.example.com", .ref = {"ml", "training", "uid-1"}});
  EXPECT_EQ(device_user({claim}, {}), (DeviceUser{"ml", "", "", "training"}));
  ClaimUsers users{{{"ml", "training"}, {{"ml", "a", "main", ""}}}};
  EXPECT_EQ(device_user({claim}, users), (DeviceUser{"ml", "a", "main", "training"}));
  users[{"ml", "training"}].push_back({"ml", "a", "side", ""});
  EXPECT_EQ(device_user({claim}, users), (DeviceUser{"ml", "a", "", "training"}));
  users[{"ml", "training"}].push_back({"ml", "b", "main", ""});
  EXPECT_EQ(device_user({claim}, users), (DeviceUser{"ml", "", "", "training"}));
}

TEST(DeviceReportTest, ADeviceOfAResourceIsUsedByItsOnlyHolder) {
  ClaimRecord fpga{.driver = "example.com/fpga", .ref = {"", "", "fpga-0"}};
  HeldDevice held;
  held.holders = {{"fpga-0::0", "default", "encoder", "main", {}}};
  fpga.parts = {{.module = "fpga", .devices = {held}}};
  EXPECT_EQ(device_user({record(fpga)}, {}), (DeviceUser{"default", "encoder", "main", ""}));
  fpga.parts[0].devices[0].holders.push_back({"fpga-0::1", "default", "decoder", "main", {}});
  EXPECT_EQ(device_user({record(fpga)}, {}), std::nullopt) << "a sample of a shared device has no single owner";
}

TEST(DeviceReportTest, ADeviceOfSeveralClaimsOrOfNoneHasNoUser) {
  const auto one = record({.driver = "gpu.example.com", .ref = {"ml", "one", "uid-1"}});
  const auto two = record({.driver = "gpu.example.com", .ref = {"ml", "two", "uid-2"}});
  EXPECT_EQ(device_user({one, two}, {}), std::nullopt);
  EXPECT_EQ(device_user({}, {}), std::nullopt);
}

}  // namespace
}  // namespace cardcage
