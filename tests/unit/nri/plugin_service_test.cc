#include "host/nri/plugin_service.h"

#include <algorithm>

#include "tests/unit/nri/nri_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PluginServiceTest : public NriFixture {};

TEST_F(PluginServiceTest, PassesOnTheStartAndTheStopOfAPod) {
  connect();
  EXPECT_TRUE(response(runtime.state_change(kRun, nri_pod("a", "/var/run/netns/a"))));
  EXPECT_TRUE(response(runtime.state_change(kStop, nri_pod("a", "/var/run/netns/a"))));
  EXPECT_THAT(events, ElementsAre("starting a", "started a", "stopping a", "stopped a"));
  EXPECT_THAT(seen, ElementsAre(sandbox("a", "/var/run/netns/a")));
}

TEST_F(PluginServiceTest, AnErrorReachesTheRuntimeWithItsCodeAndText) {
  connect();
  start_result = fail(Code::kFailedPrecondition, "interface 'eth9' is gone, caf\xe9 {}", std::string(20'000, 'x'));
  const auto refused = response(runtime.state_change(kRun, nri_pod("a", "")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, ::testing::StartsWith("cardcage: interface 'eth9' is gone, caf? xxx"));
  EXPECT_EQ(refused.error().message.size(), 16u << 10);
}

TEST_F(PluginServiceTest, PodsDoNotWaitForEachOther) {
  connect();
  Wakeup& slow = hold("slow");
  const auto first = runtime.state_change(kRun, nri_pod("slow", ""));
  EXPECT_TRUE(response(runtime.state_change(kRun, nri_pod("quick", ""))));
  EXPECT_FALSE(runtime.responses.contains(first));
  slow.wake();
  EXPECT_TRUE(response(first));
}

TEST_F(PluginServiceTest, TheCallsForOnePodDoNotOverlap) {
  connect();
  Wakeup& slow = hold("slow");
  runtime.state_change(kRun, nri_pod("slow", ""));
  const auto stop = runtime.state_change(kStop, nri_pod("slow", ""));
  EXPECT_TRUE(runs_until([&] { return !events.empty(); }));
  settle();
  EXPECT_THAT(events, ElementsAre("starting slow"));
  slow.wake();
  EXPECT_TRUE(runs_until([&] { return events.size() == 3; }));
  slow.wake();
  EXPECT_TRUE(response(stop));
  EXPECT_THAT(events, ElementsAre("starting slow", "started slow", "stopping slow", "stopped slow"));
}

TEST_F(PluginServiceTest, APodThatHangsIsNotInTheWayOfOthers) {
  connect();
  hold("slow");
  std::uint32_t last = runtime.state_change(kRun, nri_pod("slow", ""));
  for (int i = 0; i < 17; ++i) last = runtime.state_change(kStop, nri_pod("slow", ""));
  const auto refused = response(last);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("the stop of pod 'default/slow' is missed"));
  EXPECT_TRUE(response(runtime.state_change(kRun, nri_pod("quick", ""))));
  const auto held = std::move(holds.extract("slow").mapped());
  held->wake();
  EXPECT_TRUE(runs_until([&] { return std::ranges::count(events, "stopped slow") == 16; }));
}

TEST_F(PluginServiceTest, RespondsBeforeTheRuntimeGivesUpAndLetsTheWorkGoOn) {
  runtime.request_timeout = 1000;
  connect();
  Wakeup& slow = hold("slow");
  const auto start = runtime.state_change(kRun, nri_pod("slow", ""));
  ASSERT_TRUE(runs_until([&] { return !events.empty(); }));
  settle();
  clock.advance(740ms);
  settle();
  EXPECT_FALSE(runtime.responses.contains(start));
  clock.advance(11ms);
  const auto late = response(start);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(late.error().message, HasSubstr("the devices of pod 'default/slow' are not ready"));
  slow.wake();
  EXPECT_TRUE(runs_until([&] { return events.size() == 2; }));
  EXPECT_EQ(plugin->condition().level, Level::kGood);
}

TEST_F(PluginServiceTest, AStopThatTakesLongIsNoError) {
  runtime.request_timeout = 0;
  connect();
  hold("slow");
  const auto stop = runtime.state_change(kStop, nri_pod("slow", ""));
  ASSERT_TRUE(runs_until([&] { return !events.empty(); }));
  settle();
  clock.advance(1740ms);
  settle();
  EXPECT_FALSE(runtime.responses.contains(stop));
  clock.advance(11ms);
  EXPECT_TRUE(response(stop));
  EXPECT_THAT(events, ElementsAre("stopping slow"));
}

TEST_F(PluginServiceTest, ACallMayHaveLessTime) {
  connect();
  hold("slow");
  const auto stop = runtime.state_change(kStop, nri_pod("slow", ""), 400ms);
  ASSERT_TRUE(runs_until([&] { return !events.empty(); }));
  settle();
  clock.advance(301ms);
  EXPECT_TRUE(response(stop));
}

TEST_F(PluginServiceTest, StopWaitsForTheWorkForPods) {
  connect();
  Wakeup& slow = hold("slow");
  runtime.state_change(kRun, nri_pod("slow", ""));
  ASSERT_TRUE(runs_until([&] { return !events.empty(); }));
  plugin->stop();
  settle();
  EXPECT_FALSE(ended);
  slow.wake();
  EXPECT_TRUE(runs_until([&] { return ended; }));
  EXPECT_THAT(events, ElementsAre("starting slow", "started slow"));
}

TEST_F(PluginServiceTest, WorkOutlivesTheConnection) {
  connect();
  Wakeup& slow = hold("slow");
  runtime.state_change(kRun, nri_pod("slow", ""));
  ASSERT_TRUE(runs_until([&] { return !events.empty(); }));
  runtime.hang_up();
  settle();
  slow.wake();
  EXPECT_TRUE(runs_until([&] { return events.size() == 2; }));
}

TEST_F(PluginServiceTest, RespondsToOtherCallsWithoutHarm) {
  connect();
  EXPECT_TRUE(response(runtime.state_change(3, nri_pod("a", ""))));
  EXPECT_TRUE(response(runtime.call(kNriPluginService, "Shutdown", "")));
  const auto method = response(runtime.call(kNriPluginService, "CreateContainer", ""));
  ASSERT_FALSE(method);
  EXPECT_EQ(method.error(), (Error{Code::kUnimplemented, "cardcage does not implement 'CreateContainer'"}));
  EXPECT_EQ(response(runtime.call("other.Service", "StateChange", "")).error().code, Code::kUnimplemented);
  EXPECT_EQ(response(runtime.call(kNriPluginService, "StateChange", "\xff")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(response(runtime.call(kNriPluginService, "Synchronize", "\xff")).error().code, Code::kInvalidArgument);
  EXPECT_THAT(events, IsEmpty());
  EXPECT_EQ(plugin->condition().level, Level::kGood);
}

// An error would make the runtime take the sandbox down.
TEST_F(PluginServiceTest, ASandboxThatIsNoPodOfKubernetesIsLeftAlone) {
  connect();
  auto of_crictl = nri_pod("runp", "/var/run/netns/a");
  of_crictl.clear_uid();
  EXPECT_TRUE(response(runtime.state_change(kRun, of_crictl)));
  EXPECT_TRUE(response(runtime.state_change(kStop, of_crictl)));
  of_crictl.set_uid("my/uid");
  EXPECT_TRUE(response(runtime.state_change(kRun, of_crictl)));
  of_crictl = nri_pod("runp", "");
  of_crictl.clear_namespace_();
  EXPECT_TRUE(response(runtime.state_change(kRun, of_crictl)));
  of_crictl = nri_pod("runp", "");
  of_crictl.clear_name();
  EXPECT_TRUE(response(runtime.state_change(kRun, of_crictl)));
  EXPECT_THAT(events, IsEmpty());
}

TEST_F(PluginServiceTest, FailsAPodWhoseNetworkNamespaceIsNoPath) {
  connect();
  const auto refused = response(runtime.state_change(kRun, nri_pod("a", "relative\n")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "cardcage: the network namespace 'relative?' of a pod sandbox is not valid");
}

}  // namespace
}  // namespace cardcage
