#include "host/view/node_conditions.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NodeConditionsTest, AConfigurationIsAppliedUnlessTheFileDiffers) {
  ConfigState state;
  EXPECT_EQ(config_condition(state, {}), (Condition{Level::kGood, "applied", ""}));
  EXPECT_THAT(config_warnings(state), IsEmpty());
  EXPECT_EQ(config_condition(state, {"gpu", "nic"}), (Condition{Level::kBad, "refused", "by modules 'gpu', 'nic'"}));
  state.restart = {"node.name"};
  EXPECT_EQ(config_condition(state, {}), (Condition{Level::kInProgress, "needs restart", "1 key"}));
  state.errors = {"c.toml:3:1: unknown key 'modul'", "c.toml:9:2: missing"};
  EXPECT_EQ(config_condition(state, {}), (Condition{Level::kBad, "refused", "2 errors"}));
  EXPECT_THAT(config_warnings(state),
              ElementsAre("the configuration file is not applied: c.toml:3:1: unknown key 'modul'",
                          "the configuration file is not applied: c.toml:9:2: missing",
                          "the configuration file changes node.name, which needs a restart of the daemon"));
}

TEST(NodeConditionsTest, ALedgerIsBadOnlyWhileItCannotBeWritten) {
  EXPECT_EQ(ledger_condition(false, {}, {}), (Condition{Level::kGood, "ok", ""}));
  EXPECT_EQ(ledger_condition(true, {}, {}), (Condition{Level::kGood, "rebuilt", ""}));
  const Error full{Code::kResourceExhausted, "disk full"};
  EXPECT_EQ(ledger_condition(true, {}, full), (Condition{Level::kBad, "failing", "disk full"}));
  EXPECT_EQ(ledger_condition(true, Error{Code::kUnavailable, "it hangs"}, full),
            (Condition{Level::kBad, "refusing", "it hangs"}));
}

TEST(NodeConditionsTest, TheApiServerIsUnreachableIfOneDriverCannotReachIt) {
  PublisherStatus fresh, connected, failing;
  connected.last_success = std::chrono::system_clock::time_point();
  failing.last_error = "connection refused";
  EXPECT_EQ(api_server_condition("/claims", {&failing}), (Condition{Level::kGood, "embedded", "/claims"}));
  EXPECT_EQ(api_server_condition("", {}).reason, "waiting");
  EXPECT_EQ(api_server_condition("", {&fresh}).level, Level::kInProgress);
  EXPECT_EQ(api_server_condition("", {&connected, &fresh}), (Condition{Level::kGood, "connected", ""}));
  EXPECT_EQ(api_server_condition("", {&connected, &failing}),
            (Condition{Level::kBad, "unreachable", "connection refused"}));
}

TEST(NodeConditionsTest, ADiskIsLowBeforeItIsFull) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  EXPECT_EQ(disk_condition({}), std::nullopt);
  EXPECT_EQ(disk_condition(DiskSpace{.free = 128 * kMiB, .used = 1023}),
            (Condition{Level::kGood, "ok", "128 MiB free, 1023 B used"}));
  EXPECT_EQ(disk_condition(DiskSpace{.free = 128 * kMiB - 1, .used = kMiB * 3 / 2}),
            (Condition{Level::kBad, "low", "128 MiB free, 1.5 MiB used"}));
  EXPECT_EQ(disk_condition(DiskSpace{.free = 0, .used = 0}), (Condition{Level::kBad, "low", "0 B free, 0 B used"}));
}

TEST(NodeConditionsTest, ARuntimeThatMayDropDevicesIsAWarning) {
  PublisherStatus unknown, old, current, other;
  old.node_runtime = "containerd://1.7.27";
  current.node_runtime = "containerd://2.2.9";
  other.node_runtime = "cri-o://1.34.1";
  EXPECT_EQ(runtime_warning({}), "");
  EXPECT_EQ(runtime_warning({&unknown, &current, &other}), "");
  EXPECT_THAT(runtime_warning({&unknown, &old}),
              ::testing::AllOf(::testing::HasSubstr("containerd 1.7.27"), ::testing::HasSubstr("enable_cdi = true")));
}

TEST(NodeConditionsTest, TheAbsenceOfThePodsApiIsNoFault) {
  using State = PodsWatchView::State;
  EXPECT_EQ(pods_api_condition({}),
            (Condition{Level::kGood, "absent", "claims are read when the kubelet asks for them"}));
  EXPECT_EQ(pods_api_condition({.state = State::kSyncing, .pods = 2}), (Condition{Level::kInProgress, "syncing", ""}));
  EXPECT_EQ(pods_api_condition({.state = State::kWatching, .pods = 1}), (Condition{Level::kGood, "watching", "1 pod"}));
  EXPECT_EQ(pods_api_condition({.state = State::kFailing, .error = "too many callers", .pods = 1}),
            (Condition{Level::kBad, "failing", "too many callers"}));
}

TEST(NodeConditionsTest, PodResourcesReportTheSocketBeforeReleases) {
  PodReconcilerStatus status;
  EXPECT_EQ(pod_resources_condition(status), (Condition{Level::kInProgress, "waiting", ""}));
  status.resources.state = PodResourcesView::State::kOk;
  status.last_error = "device 'a' cannot be released";
  EXPECT_EQ(pod_resources_condition(status), (Condition{Level::kGood, "ok", "device 'a' cannot be released"}));
  status.resources = {.state = PodResourcesView::State::kFailing, .error = "no such file"};
  EXPECT_EQ(pod_resources_condition(status), (Condition{Level::kBad, "failing", "no such file"}));
}

}  // namespace
}  // namespace cardcage
