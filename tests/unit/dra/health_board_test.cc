#include "host/dra/health_board.h"

#include <gtest/gtest.h>

namespace cardcage {
namespace {

DeviceHealth known(Health health) { return {.health = std::move(health)}; }

TEST(HealthReportTest, NamesTheReasonBeforeTheMessage) {
  const auto message = [](const char* reason, const char* text) {
    return health_report("pool", "gpu-0", known({.state = HealthState::kUnhealthy, .reason = reason, .message = text}))
        .message;
  };
  EXPECT_EQ(message("Xid79", "the GPU has fallen off the bus"), "Xid79: the GPU has fallen off the bus");
  EXPECT_EQ(message("Xid79", ""), "Xid79");
  EXPECT_EQ(message("", "it is hot"), "it is hot");
  EXPECT_EQ(message("", ""), "");
}

TEST(HealthReportTest, ADeviceThatWorksIsHealthyAndOneThatNothingWatchesIsUnknown) {
  const auto told = [](HealthState state) { return health_report("pool", "gpu-0", known({.state = state})).told; };
  EXPECT_EQ(told(HealthState::kHealthy), KubeletHealth::kHealthy);
  EXPECT_EQ(told(HealthState::kDegraded), KubeletHealth::kHealthy);
  EXPECT_EQ(told(HealthState::kUnmonitored), KubeletHealth::kUnknown);
  EXPECT_EQ(told(HealthState::kUnknown), KubeletHealth::kUnknown);
  EXPECT_EQ(told(HealthState::kUnhealthy), KubeletHealth::kUnhealthy);
}

TEST(HealthReportTest, ARuleDecidesWhatTheKubeletIsTold) {
  DeviceHealth degraded = known({.state = HealthState::kDegraded});
  degraded.kubelet = KubeletHealth::kUnhealthy;
  EXPECT_EQ(health_report("pool", "gpu-0", degraded).told, KubeletHealth::kUnhealthy);
}

TEST(HealthReportTest, TheMessageHasAtMostWhatTheKubeletKeeps) {
  const Health health{.state = HealthState::kUnhealthy, .reason = "Long", .message = std::string(1024, 'x')};
  EXPECT_EQ(health_report("pool", "gpu-0", known(health)).message.size(), kMaxHealthMessage);
}

}  // namespace
}  // namespace cardcage
