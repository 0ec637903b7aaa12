#include "host/pods/pod_reconciler.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include "host/rpc/client_slot.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_pod_resources.h"
#include "tests/unit/pods/resource_devices.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre, ::testing::IsEmpty, ::testing::SizeIs;

// A record of devices that fails on request.
class FakeHandedOut final : public HandedOut {
 public:
  explicit FakeHandedOut(Clock& clock) : clock_(clock) {}

  std::vector<ServedResource> served() const override { return resources; }
  std::vector<HandedOutDevice> handed_out() const override {
    std::vector<HandedOutDevice> all;
    for (const auto& [device, state] : devices) all.push_back(state);
    return all;
  }
  void seen(const ResourceDevice& device, const PodContainer& holder) override {
    news.push_back({device, holder});
    devices.at(device).seen = true;
  }
  Task<Status> release(HandedOutDevice device) override {
    ++releases;
    if (stalled) {
      ++waiting;
      co_await clock_.sleep_for(100h);
      --waiting;
    }
    if (!failure.empty()) co_return fail(Code::kUnavailable, "{}", failure);
    if (devices.at(device.device) != device) co_return fail(Code::kAborted, "allocated again");
    devices.erase(device.device);
    co_return Status{};
  }
  Task<Status> adopt(ResourceDevice device, PodContainer holder) override {
    ++adoptions;
    if (!failure.empty()) co_return fail(Code::kUnavailable, "{}", failure);
    devices[device] = {.device = device, .allocated = clock_.now(), .seen = true};
    adopted.push_back({device, holder});
    co_return Status{};
  }
  void lost(const std::string& resource) override { lost_ones.push_back(resource); }
  void resend(const std::string& resource) override {
    resent.push_back(resource);
    if (on_resend) on_resend();
  }

  void allocate(const ResourceDevice& device) { devices[device] = {.device = device, .allocated = clock_.now()}; }
  bool has(const ResourceDevice& device) const { return devices.contains(device); }

  std::vector<ServedResource> resources{{kResource, {"fpga-1", "fpga-2"}}};
  std::map<ResourceDevice, HandedOutDevice> devices;
  std::vector<PodHolding> news, adopted;
  std::vector<std::string> lost_ones, resent;
  std::function<void()> on_resend;
  std::string failure;
  bool stalled = false;
  int releases = 0, adoptions = 0;
  std::size_t waiting = 0;

 private:
  Clock& clock_;
};

class PodReconcilerTest : public CoreFixture {
 protected:
  PodReconcilerTest() {
    kubelet.offer(kResource, {"fpga-1", "fpga-2"});
    kubelet.start();
    kubelet.write_checkpoint();
  }
  ~PodReconcilerTest() override {
    reconciler.stop();
    pods.stop();
    EXPECT_TRUE(!started || until([&] { return ended == 2; }));
  }

  void run_loops() {
    started = true;
    const auto run_to_end = [](Task<void> task, int& ends) -> Task<void> {
      co_await std::move(task);
      ++ends;
    };
    spawn(core, run_to_end(reconciler.run(), ended));
    spawn(core, run_to_end(pods.run(), ended));
  }
  void start() {
    run_loops();
    ASSERT_TRUE(until([&] { return reconciler.status().rounds == 1 && at_rest(); }));
  }
  // Whether the reconciler waits for time, not for the kubelet: its loop waits for the next round, the watch of the
  // Pods API for a socket or an event.
  bool at_rest() { return clock.sleepers() >= (pods_api ? 1 : 2) + ledger.waiting; }
  bool until(const std::function<bool()>& condition, Duration limit = 5s) {
    const Instant end = std::chrono::steady_clock::now() + limit;
    core.restart();
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      core.run_one_for(5ms);
    }
    return true;
  }
  // Lets time pass in steps, and the kubelet respond in each.
  void pass(Duration time, Duration step = 500ms) {
    for (Duration passed{}; passed < time; passed += step) {
      clock.advance(step);
      settle();
      ASSERT_TRUE(until([&] { return at_rest(); }));
    }
  }
  bool passes_until(const std::function<bool()>& condition, Duration limit) {
    for (Duration passed{}; passed < limit && !condition(); passed += 500ms) pass(500ms);
    return condition();
  }
  void run_pod(const std::string& uid, const std::string& id, bool init = false) {
    kubelet.put_pod({"ml", "pod-" + uid, uid, {{"main", {{kResource, {id}}}, init}}, "Running"});
    kubelet.write_checkpoint();
  }
  void end_pod(const std::string& uid) { kubelet.remove_pod(uid); }  // the checkpoint is unchanged

  ScratchFolder root;
  KubeletSockets sockets = KubeletSockets::below(root.path(), root / "device-plugins");
  FakePodResources kubelet{root.path(), root / "device-plugins"};
  FakeClock clock;
  ClientSlot<KubeletClients> clients{sockets};
  FakeHandedOut ledger{clock};
  PodsWatch pods{core, clock, clients, sockets.pods, {.gone = [this] { reconciler.nudge(); }}, 1};
  PodReconciler reconciler{core, clock, clients, ledger, sockets, pods, {root.path(), root / "device-plugins", 1}};
  bool started = false, pods_api = false;
  int ended = 0;  // ended loops
};

TEST_F(PodReconcilerTest, FollowsAPodFromAllocateToItsEnd) {
  start();
  ledger.allocate(kOne);
  run_pod("a", "fpga-1");
  reconciler.nudge();
  ASSERT_TRUE(passes_until([&] { return !ledger.news.empty(); }, 3s));
  EXPECT_THAT(ledger.news, ElementsAre(PodHolding{kOne, {"ml", "pod-a", "main", ""}}));
  pass(30s);
  EXPECT_EQ(ledger.releases, 0);
  EXPECT_THAT(ledger.news, SizeIs(1));
  end_pod("a");
  ASSERT_TRUE(passes_until([&] { return !ledger.has(kOne); }, 15s)) << "10 s, and 1 s for the second list";
  EXPECT_EQ(ledger.releases, 1);
  EXPECT_EQ(reconciler.status().resources.state, PodResourcesView::State::kOk);
}

TEST_F(PodReconcilerTest, AReplacedCheckpointIsAHint) {
  ledger.allocate(kOne);
  run_pod("a", "fpga-1");
  start();
  pass(1s);
  const auto rounds = reconciler.status().rounds;
  end_pod("a");
  kubelet.write_checkpoint();
  core.restart();
  core.run_for(20ms);  // delivers the inotify event
  EXPECT_TRUE(passes_until([&] { return !ledger.has(kOne); }, 3s)) << rounds;
}

TEST_F(PodReconcilerTest, ADeviceOfARunningInitContainerStays) {
  ledger.allocate(kOne);
  run_pod("a", "fpga-1", /*init=*/true);
  start();
  pass(600s, 5s);
  EXPECT_TRUE(ledger.has(kOne));
  EXPECT_THAT(ledger.news, IsEmpty());
  EXPECT_THAT(reconciler.status().doubts, ElementsAre(kOne));
  end_pod("a");
  EXPECT_TRUE(passes_until([&] { return !ledger.has(kOne); }, 15s)) << "its folder is gone";
  EXPECT_THAT(reconciler.status().doubts, IsEmpty());
}

TEST_F(PodReconcilerTest, APodThatWasNotAdmittedLosesItsDeviceAfterAWhile) {
  start();
  ledger.allocate(kOne);
  reconciler.nudge();
  pass(29s);
  EXPECT_TRUE(ledger.has(kOne));
  EXPECT_TRUE(passes_until([&] { return !ledger.has(kOne); }, 12s));
}

TEST_F(PodReconcilerTest, NothingIsReleasedWhileAStartedKubeletListsNoPods) {
  ledger.allocate(kOne);
  run_pod("a", "fpga-1");
  start();
  pass(1s);
  kubelet.set_synced(false);
  kubelet.stop();
  kubelet.start();
  pass(600s, 5s);
  EXPECT_TRUE(ledger.has(kOne));
  EXPECT_GT(reconciler.status().rounds, 10);
}

TEST_F(PodReconcilerTest, WithoutACheckpointItTakesFiveMinutes) {
  ledger.allocate(kOne);
  run_pod("a", "fpga-1");
  start();
  pass(1s);
  std::ofstream(root / "device-plugins/kubelet_internal_checkpoint") << "garbage";
  end_pod("a");
  pass(300s, 5s);
  EXPECT_TRUE(ledger.has(kOne));
  EXPECT_TRUE(passes_until([&] { return !ledger.has(kOne); }, 30s));
}

TEST_F(PodReconcilerTest, WithoutCheckpointAndPodFoldersNothingIsReleased) {
  ledger.allocate(kOne);
  run_pod("a", "fpga-1");
  start();
  pass(1s);
  std::filesystem::remove(root / "device-plugins/kubelet_internal_checkpoint");
  std::filesystem::remove_all(root / "pods");
  end_pod("a");
  pass(900s, 5s);
  EXPECT_TRUE(ledger.has(kOne)) << "the kubelet's folder may not be mounted";
}

TEST_F(PodReconcilerTest, WithoutPodFoldersANewCheckpointDecides) {
  ledger.allocate(kOne);
  run_pod("a", "fpga-1", /*init=*/true);
  start();
  end_pod("a");
  std::filesystem::remove_all(root / "pods");
  pass(600s, 5s);
  EXPECT_TRUE(ledger.has(kOne));
  kubelet.write_checkpoint();
  EXPECT_TRUE(passes_until([&] { return !ledger.has(kOne); }, 15s));
}

TEST_F(PodReconcilerTest, AFinishedJobIsResolvedByANewCheckpoint) {
  ledger.allocate(kOne);
  run_pod("a", "fpga-1");
  start();
  pass(1s);
  // The pod stays, and so does its folder; the kubelet rewrites its checkpoint when it is sent a list.
  kubelet.put_pod({"ml", "pod-a", "a", {{"main", {{kResource, {"fpga-1"}}}}}, "Succeeded"});
  ledger.on_resend = [&] { kubelet.write_checkpoint(); };
  EXPECT_TRUE(passes_until([&] { return !ledger.has(kOne); }, 60s));
  EXPECT_THAT(ledger.resent, ElementsAre(kResource));
}

TEST_F(PodReconcilerTest, ALastingDoubtResendsTheListWithGrowingPauses) {
  ledger.allocate(kOne);
  run_pod("a", "fpga-1", /*init=*/true);
  start();
  pass(1800s, 5s);
  EXPECT_GE(ledger.resent.size(), 5);
  EXPECT_LE(ledger.resent.size(), 15);
}

TEST_F(PodReconcilerTest, AdoptsDevicesThatTheLedgerDoesNotKnow) {
  run_pod("a", "fpga-1");
  start();
  EXPECT_THAT(ledger.adopted, IsEmpty());
  pass(3s);
  EXPECT_THAT(ledger.adopted, ElementsAre(PodHolding{kOne, {"ml", "pod-a", "main", ""}}));
  pass(60s, 5s);
  EXPECT_EQ(ledger.adoptions, 1);
}

TEST_F(PodReconcilerTest, AFailedReleaseIsRetriedWithGrowingPauses) {
  ledger.allocate(kOne);
  run_pod("a", "fpga-1");
  run_pod("b", "fpga-2");  // not in the ledger
  ledger.failure = "module 'm' is restarting";
  start();
  pass(5s);
  end_pod("a");
  pass(300s, 2s);
  EXPECT_TRUE(ledger.has(kOne));
  EXPECT_GE(ledger.releases, 5);
  EXPECT_LE(ledger.releases, 15);
  EXPECT_LE(ledger.adoptions, 15);
  EXPECT_EQ(reconciler.status().last_error, ledger.failure);
  ledger.failure.clear();
  EXPECT_TRUE(passes_until([&] { return !ledger.has(kOne) && ledger.has(kTwo); }, 310s));
  EXPECT_EQ(reconciler.status().last_error, "");
}

TEST_F(PodReconcilerTest, ASlowReleaseDoesNotDelayOthers) {
  ledger.allocate(kOne);
  run_pod("a", "fpga-1");
  start();
  pass(1s);
  ledger.stalled = true;
  end_pod("a");
  EXPECT_TRUE(passes_until([&] { return ledger.releases == 1; }, 15s));
  ledger.allocate(kTwo);
  run_pod("b", "fpga-2");
  EXPECT_TRUE(passes_until([&] { return ledger.news.size() == 2; }, 15s));
  pass(30s);
  EXPECT_EQ(ledger.releases, 1) << "one release at a time per device";
  clock.advance(100h);
  settle();
}

TEST_F(PodReconcilerTest, ManyDevicesAreReleasedWithinSeconds) {
  constexpr int kDevices = 40;
  for (int i = 0; i < kDevices; ++i) {
    ledger.allocate({kResource, fmt::format("fpga-{}", i)});
    run_pod(fmt::format("pod-{}", i), fmt::format("fpga-{}", i));
  }
  start();
  pass(1s);
  for (int i = 0; i < kDevices; ++i) end_pod(fmt::format("pod-{}", i));
  EXPECT_TRUE(passes_until([&] { return ledger.devices.size() < kDevices; }, 15s));
  EXPECT_TRUE(passes_until([&] { return ledger.devices.empty(); }, 6s));
}

TEST_F(PodReconcilerTest, AFailingListChangesNothing) {
  ledger.allocate(kOne);
  run_pod("a", "fpga-1");
  start();
  pass(1s);
  end_pod("a");
  kubelet.set_status({grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit"});
  const int before = kubelet.lists();
  pass(120s, 1s);
  EXPECT_TRUE(ledger.has(kOne));
  EXPECT_EQ(reconciler.status().resources.state, PodResourcesView::State::kFailing);
  EXPECT_LE(kubelet.lists() - before, 40) << "backs off";
  kubelet.set_status(grpc::Status::OK);
  EXPECT_TRUE(passes_until([&] { return !ledger.has(kOne); }, 30s));
}

TEST_F(PodReconcilerTest, ANodeWithoutTheSocketIsNotAnError) {
  kubelet.stop();
  ledger.allocate(kOne);
  run_loops();
  ASSERT_TRUE(until([&] { return at_rest(); }));
  pass(600s, 5s);
  EXPECT_EQ(reconciler.status().resources.state, PodResourcesView::State::kAbsent);
  EXPECT_TRUE(ledger.has(kOne));
  kubelet.start();
  EXPECT_TRUE(passes_until([&] { return !ledger.has(kOne); }, 60s));
}

TEST_F(PodReconcilerTest, ABurstOfHintsCostsOneList) {
  start();
  pass(5s);
  const int before = kubelet.lists();
  for (int i = 0; i < 20; ++i) {
    reconciler.nudge();
    pass(10ms, 10ms);
  }
  pass(2s);
  EXPECT_EQ(kubelet.lists() - before, 1);
}

TEST_F(PodReconcilerTest, WithoutResourcesTheKubeletIsNotAsked) {
  ledger.resources.clear();
  run_loops();
  ASSERT_TRUE(until([&] { return at_rest(); }));
  pass(600s, 10s);
  EXPECT_EQ(kubelet.lists() + kubelet.offers(), 0);
}

TEST_F(PodReconcilerTest, AResourceThatTheKubeletDoesNotOfferIsLost) {
  start();
  pass(70s, 5s);
  EXPECT_THAT(ledger.lost_ones, IsEmpty());
  kubelet.offer(kResource, {});
  ASSERT_TRUE(passes_until([&] { return !ledger.lost_ones.empty(); }, 75s));
  EXPECT_THAT(ledger.lost_ones, ElementsAre(kResource));
  pass(50s, 5s);
  EXPECT_THAT(ledger.lost_ones, SizeIs(1)) << "not again at once";
}

TEST_F(PodReconcilerTest, AResourceThatComesBackInTimeIsNotLost) {
  kubelet.offer(kResource, {});
  start();
  pass(3s);
  kubelet.offer(kResource, {"fpga-2"});
  pass(120s, 5s);
  EXPECT_THAT(ledger.lost_ones, IsEmpty());
  kubelet.offer(kResource, {});
  ledger.resources[0].healthy.clear();
  pass(120s, 5s);
  EXPECT_THAT(ledger.lost_ones, IsEmpty()) << "no device was to be offered";
}

TEST_F(PodReconcilerTest, ThePodsApiReportsUidsAndEndedPodsAtOnce) {
  pods_api = true;
  kubelet.start_pods_api();
  ledger.allocate(kOne);
  run_pod("a", "fpga-1");
  start();
  ASSERT_TRUE(until([&] { return pods.view().state == PodsWatchView::State::kWatching; }));
  ASSERT_TRUE(passes_until([&] { return !ledger.news.empty() && ledger.news.back().holder.uid == "a"; }, 12s));
  // A finished Job: the watch reports it, which counts more than the checkpoint.
  kubelet.put_pod({"ml", "pod-a", "a", {{"main", {{kResource, {"fpga-1"}}}}}, "Succeeded"});
  core.restart();
  core.run_for(50ms);
  EXPECT_TRUE(passes_until([&] { return !ledger.has(kOne); }, 4s));
  EXPECT_THAT(ledger.resent, IsEmpty());
}

}  // namespace
}  // namespace cardcage
