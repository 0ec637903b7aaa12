#include "host/pods/pod_resources.h"

#include <gmock/gmock.h>

#include <thread>

#include "host/rpc/client_slot.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_pod_resources.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::Pair;

class PodResourcesTest : public CoreFixture {
 protected:
  PodResourcesTest() { kubelet.start(); }

  // Lists a second later, so that the rate limit does not delay it.
  Result<PodListing> list() {
    clock.advance(1s);
    return run(resources.list());
  }
  // Retries until the channel has found the kubelet again.
  Result<PodListing> list_in_the_end() {
    auto listed = list();
    for (int i = 0; i < 50 && !listed; ++i) listed = list();
    return listed;
  }

  ScratchFolder root;
  KubeletSockets sockets = KubeletSockets::below(root.path(), root / "device-plugins");
  FakePodResources kubelet{root.path(), root / "device-plugins"};
  FakeClock clock;
  ClientSlot<KubeletClients> clients{sockets};
  PodResources resources{core, clock, clients, sockets.pod_resources};
};

TEST_F(PodResourcesTest, ListsEachHoldingOnceWithoutInitContainers) {
  kubelet.set_numa_nodes(2);
  kubelet.put_pod({"ml",
                   "trainer",
                   "uid-1",
                   {{"fetch", {{"example.com/fpga", {"fpga-1"}}}, /*init=*/true},
                    {"main", {{"example.com/fpga", {"fpga-3", "fpga-2"}}, {"example.com/nic", {"fpga-2"}}}},
                    {"side", {{"example.com/fpga", {"fpga-2"}}}}}});
  const Instant before = clock.now();
  const auto listed = list();
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_EQ(listed->began, before + 1s);
  EXPECT_THAT(listed->holdings, ElementsAre(PodHolding{{"example.com/fpga", "fpga-2"}, {"ml", "trainer", "main", ""}},
                                            PodHolding{{"example.com/fpga", "fpga-2"}, {"ml", "trainer", "side", ""}},
                                            PodHolding{{"example.com/fpga", "fpga-3"}, {"ml", "trainer", "main", ""}},
                                            PodHolding{{"example.com/nic", "fpga-2"}, {"ml", "trainer", "main", ""}}));
  EXPECT_EQ(resources.view().state, PodResourcesView::State::kOk);
}

TEST_F(PodResourcesTest, ListsTheContainersThatUseClaims) {
  kubelet.put_pod(
      {"ml", "a", "uid-1", {{"main", {}, false, {"training"}}, {"side", {}, false, {"training", "other"}}}});
  kubelet.put_pod({"ml", "b", "uid-2", {{"main", {}, false, {"training"}}}});
  const auto listed = list();
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_EQ(
      listed->claims,
      (ClaimUsers{{{"ml", "training"}, {{"ml", "a", "main", ""}, {"ml", "a", "side", ""}, {"ml", "b", "main", ""}}},
                  {{"ml", "other"}, {{"ml", "a", "side", ""}}}}));
}

TEST_F(PodResourcesTest, AcceptsMoreThanFourMebibytes) {
  kubelet.put_pod({"ml", "trainer", "uid-1", {{"main", {{"example.com/fpga", {"fpga-3"}}}}}});
  kubelet.pad(6 * 1024 * 1024);
  const auto listed = list();
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_GT(listed->holdings.size(), 1);
  kubelet.pad(17 * 1024 * 1024);
  const auto refused = list();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_EQ(resources.view().state, PodResourcesView::State::kFailing);
}

TEST_F(PodResourcesTest, AnIncompleteListFails) {
  kubelet.put_pod({"ml", "trainer", "uid-1", {{"main", {{"example.com/fpga", {""}}}}}});
  EXPECT_EQ(list().error().code, Code::kDataLoss);
  kubelet.put_pod({"ml", "", "uid-1", {}});
  EXPECT_EQ(list().error().code, Code::kDataLoss);
  EXPECT_EQ(resources.view().state, PodResourcesView::State::kFailing);
}

TEST_F(PodResourcesTest, ReportsTheOfferedDevices) {
  kubelet.offer("example.com/fpga", {"fpga-1", "fpga-2"});
  kubelet.offer("example.com/nic", {});
  clock.advance(1s);
  const auto offered = run(resources.offered());
  ASSERT_TRUE(offered) << offered.error().message;
  EXPECT_THAT(*offered, ElementsAre(Pair("example.com/fpga", ElementsAre("fpga-1", "fpga-2"))));
}

TEST_F(PodResourcesTest, FiveCallsMayComeAtOnceAndLaterOnesOncePerSecond) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(run(resources.list()));
  const Instant start = clock.now();
  std::vector<Duration> ends;
  for (int i = 0; i < 2; ++i)
    spawn(core, [](PodResources& r, std::vector<Duration>& times, FakeClock& c, Instant since) -> Task<void> {
      (void)co_await r.list();
      times.push_back(c.now() - since);
    }(resources, ends, clock, start));
  for (int step = 0; step < 20 && ends.size() < 2; ++step) {
    settle();
    EXPECT_LE(kubelet.lists(), 5 + (clock.now() - start) / 1s);
    core.restart();
    core.run_for(50ms);
    clock.advance(500ms);
  }
  ASSERT_EQ(ends.size(), 2);
  EXPECT_GE(ends[1], 2s);
}

TEST_F(PodResourcesTest, AfterARateLimitTheBurstIsSpent) {
  kubelet.set_status({grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit"});
  const auto refused = list();
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(resources.view().error, HasSubstr("rate limit"));
  kubelet.set_status(grpc::Status::OK);
  std::optional<bool> again;
  spawn(core, [](PodResources& r, std::optional<bool>& done) -> Task<void> {
    done = (co_await r.list()).has_value();
  }(resources, again));
  settle();
  EXPECT_EQ(clock.sleepers(), 1) << "it waits for its turn";
  EXPECT_EQ(kubelet.lists(), 1);
  clock.advance(1s);
  core.restart();
  while (!again) core.run_one_for(1s);
  EXPECT_EQ(again, true);
}

TEST_F(PodResourcesTest, AMissingSocketIsReportedAsAbsent) {
  kubelet.stop();
  const auto refused = list();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_EQ(resources.view().state, PodResourcesView::State::kAbsent);
  kubelet.start();
  EXPECT_TRUE(list_in_the_end());
  EXPECT_EQ(resources.view().state, PodResourcesView::State::kOk);
  EXPECT_EQ(resources.view().error, "");
}

TEST_F(PodResourcesTest, ARestartOfTheKubeletReplacesTheClientsOnce) {
  ASSERT_TRUE(list());
  const auto before = clients.current();
  kubelet.stop();
  kubelet.start();
  EXPECT_TRUE(list_in_the_end());
  EXPECT_TRUE(list());
  EXPECT_LE(before.use_count(), 2) << "no call stays on the old connection";
}

TEST_F(PodResourcesTest, CallsEndBeforeTheirOwnerIsDestroyed) {
  using namespace api::pod_resources;
  kubelet.set_stalled(true);
  auto calls = std::make_unique<ClientCalls>(core);
  const auto begin = [](const KubeletClients& set, auto... call) { set.pod_resources->async()->List(call...); };
  const auto done = calls->begin<ListPodResourcesRequest, ListPodResourcesResponse>(clients.current(), {}, 60s, begin);
  while (kubelet.lists() == 0) std::this_thread::sleep_for(1ms);
  calls.reset();
  const auto ended = run(done.wait());
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::kCancelled);
  EXPECT_EQ(clients.current().use_count(), 2) << "the slot's and this one";
}

}  // namespace
}  // namespace cardcage
