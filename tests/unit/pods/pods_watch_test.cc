#include "host/pods/pods_watch.h"

#include <gmock/gmock.h>

#include "host/rpc/client_slot.h"
#include "host/rpc/unix_socket.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_pod_resources.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

const FakePod kTrainerPod{"ml", "trainer-0", "uid-1", {}, "Running"}, kOtherPod{"ml", "other", "uid-2", {}, "Running"};

class PodsWatchTest : public CoreFixture {
 protected:
  ~PodsWatchTest() override {
    watch.stop();
    EXPECT_TRUE(!started || until([&] { return ended; }));
  }

  void start() {
    started = true;
    spawn(core, [](PodsWatch& w, bool& end) -> Task<void> {
      co_await w.run();
      end = true;
    }(watch, ended));
    settle();
  }
  // Runs the core in real time until the condition holds.
  bool until(const std::function<bool()>& condition, Duration limit = 5s) {
    const Instant end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      core.restart();  // it stops when only another thread has work
      core.run_one_for(5ms);
    }
    return true;
  }
  bool until(PodsWatchView::State state) {
    return until([&] { return watch.view().state == state; });
  }
  // Lets the pause after a failure pass.
  bool until_watching_again(int watches) {
    return until([&] {
      if (clock.sleepers() > 0) clock.advance(1s);
      return kubelet.watches() >= watches && watch.view().state == PodsWatchView::State::kWatching;
    });
  }
  void start_synced() {
    kubelet.start_pods_api();
    start();
    ASSERT_TRUE(until(PodsWatchView::State::kWatching));
  }

  ScratchFolder root;
  // Leaves a socket that no process serves.
  static void leave_socket(const std::filesystem::path& path) {
    std::filesystem::remove(path);
    const UniqueFd socket = new_unix_socket();
    ASSERT_EQ(bind_unix(socket, *unix_address(path)), 0);
  }

  KubeletSockets sockets = KubeletSockets::below(root.path(), root / "device-plugins");
  FakePodResources kubelet{root.path(), root / "device-plugins"};
  FakeClock clock;
  ClientSlot<KubeletClients> clients{sockets};
  int gone = 0;
  std::vector<ComingPod> coming;
  std::vector<std::string> left;
  PodsWatch watch{core,
                  clock,
                  clients,
                  sockets.pods,
                  {.gone = [this] { ++gone; },
                   .coming = [this](ComingPod pod) { coming.push_back(std::move(pod)); },
                   .left = [this](const std::string& uid) { left.push_back(uid); }},
                  1};
  bool started = false, ended = false;
};

TEST_F(PodsWatchTest, KnowsThePodsOnceTheListIsComplete) {
  kubelet.put_pod(kTrainerPod);
  start_synced();
  EXPECT_EQ(watch.uid_of("ml", "trainer-0"), "uid-1");
  EXPECT_EQ(watch.uid_of("other", "trainer-0"), "");
  EXPECT_FALSE(watch.has_ended("uid-1"));
  EXPECT_EQ(watch.view().pods, 1);
  EXPECT_EQ(gone, 1) << "others may have gone before";
  kubelet.put_pod(kOtherPod);
  EXPECT_TRUE(until([&] { return watch.uid_of("ml", "other") == "uid-2"; }));
  EXPECT_EQ(gone, 1);
}

TEST_F(PodsWatchTest, ReportsEndedAndDeletedPods) {
  kubelet.put_pod(kTrainerPod);
  start_synced();
  auto done = kTrainerPod;
  done.phase = "Succeeded";
  kubelet.put_pod(done);
  EXPECT_TRUE(until([&] { return gone == 2; }));
  EXPECT_TRUE(watch.has_ended("uid-1"));
  kubelet.put_pod(done);
  kubelet.remove_pod("uid-1");  // the event has a name, a namespace and a UID
  EXPECT_TRUE(until([&] { return gone == 3; })) << "the repetition does not count";
  EXPECT_EQ(watch.uid_of("ml", "trainer-0"), "");
  EXPECT_FALSE(watch.has_ended("uid-1"));
}

TEST_F(PodsWatchTest, ANewPodOfTheSameNameOutlivesTheOldOne) {
  kubelet.put_pod(kTrainerPod);
  start_synced();
  auto again = kTrainerPod;
  again.uid = "uid-3";
  kubelet.put_pod(again);
  kubelet.remove_pod("uid-1");
  EXPECT_TRUE(until([&] { return gone == 2; }));
  EXPECT_EQ(watch.uid_of("ml", "trainer-0"), "uid-3");
}

TEST_F(PodsWatchTest, ReopensAStreamThatWasCutOff) {
  kubelet.put_pod(kTrainerPod);
  kubelet.put_pod(kOtherPod);
  start_synced();
  kubelet.cut_off_watchers();
  ASSERT_TRUE(until(PodsWatchView::State::kFailing));
  EXPECT_THAT(watch.view().error, ::testing::HasSubstr("too slow"));
  EXPECT_EQ(watch.uid_of("ml", "trainer-0"), "uid-1") << "the last known UID";
  kubelet.remove_pod("uid-1");  // the watch does not see this
  EXPECT_EQ(kubelet.watches(), 1) << "after a pause";
  ASSERT_TRUE(until_watching_again(2));
  EXPECT_EQ(watch.uid_of("ml", "trainer-0"), "");
  EXPECT_EQ(watch.uid_of("ml", "other"), "uid-2");
  EXPECT_EQ(gone, 2);
}

TEST_F(PodsWatchTest, ARestartOfTheKubeletSendsTheListAgain) {
  kubelet.put_pod(kTrainerPod);
  start_synced();
  kubelet.stop_pods_api();
  leave_socket(sockets.pods);
  ASSERT_TRUE(until(PodsWatchView::State::kAbsent));
  EXPECT_EQ(watch.view().error, "");
  kubelet.start_pods_api();
  ASSERT_TRUE(until_watching_again(2));
  EXPECT_EQ(watch.uid_of("ml", "trainer-0"), "uid-1");
}

TEST_F(PodsWatchTest, TellsWhichPodsComeWithClaimsAndWhenTheyAreGone) {
  const auto coming_pod = [](const std::string& uid) {
    return FakePod{"ml", "pod-" + uid, uid, {}, "Pending", {"shared", "own"}};
  };
  auto templates = coming_pod("uid-4");
  templates.claims.clear();
  templates.has_templates = true;
  auto deleting = coming_pod("uid-5");
  deleting.deleting = true;
  kubelet.put_pod(coming_pod("uid-3"));
  start_synced();
  kubelet.put_pod(templates);
  kubelet.put_pod(deleting);
  kubelet.put_pod(kOtherPod);
  kubelet.put_pod({"ml", "plain", "uid-6", {}, "Pending"});
  ASSERT_TRUE(until([&] { return watch.uid_of("ml", "plain") == "uid-6"; }));
  ASSERT_EQ(coming.size(), 2u) << "a pod without claims, a running one and an ending one are not expected";
  EXPECT_EQ(coming[0].uid + " " + coming[0].name_space + "/" + coming[0].name, "uid-3 ml/pod-uid-3");
  EXPECT_THAT(coming[0].claims, ::testing::ElementsAre("shared", "own"));
  EXPECT_EQ(coming[0].templates, 0u);
  EXPECT_THAT(coming[1].claims, ::testing::IsEmpty());
  EXPECT_EQ(coming[1].templates, 1u);
  EXPECT_THAT(left, ::testing::ElementsAre("uid-5"));

  left.clear();
  auto ran = coming_pod("uid-3");
  ran.phase = "Running";
  kubelet.put_pod(ran);
  ran.phase = "Failed";
  kubelet.put_pod(ran);
  kubelet.remove_pod("uid-4");
  ASSERT_TRUE(until([&] { return left.size() == 2; }));
  EXPECT_THAT(left, ::testing::ElementsAre("uid-3", "uid-4"));
}

TEST_F(PodsWatchTest, ThePodsThatWentBetweenTwoStreamsAreGone) {
  kubelet.put_pod({"ml", "stays", "uid-3", {}, "Pending", {"one"}});
  kubelet.put_pod({"ml", "goes", "uid-4", {}, "Pending", {"two"}});
  start_synced();
  kubelet.cut_off_watchers();
  ASSERT_TRUE(until(PodsWatchView::State::kFailing));
  kubelet.remove_pod("uid-4");
  ASSERT_TRUE(until_watching_again(2));
  EXPECT_THAT(left, ::testing::ElementsAre("uid-4"));
}

TEST_F(PodsWatchTest, AsksTheKubeletWhetherItHasAPod) {
  const auto has = [&](const std::string& uid) {
    std::optional<bool> answer;
    spawn(core, [](PodsWatch& w, Instant by, std::string pod, std::optional<bool>& a) -> Task<void> {
      a = co_await w.has_pod(std::move(pod), by);
    }(watch, clock.now() + 1s, uid, answer));
    EXPECT_TRUE(until([&] { return answer.has_value(); }));
    return answer.value_or(false);
  };
  kubelet.put_pod(kTrainerPod);
  auto done = kOtherPod, deleting = kOtherPod;
  done.uid = "uid-3";
  done.phase = "Succeeded";
  deleting.uid = "uid-4";
  deleting.deleting = true;
  kubelet.put_pod(done);
  kubelet.put_pod(deleting);
  start_synced();
  EXPECT_TRUE(has("uid-1"));
  EXPECT_FALSE(has("uid-2")) << "unknown";
  EXPECT_FALSE(has("uid-3")) << "ended";
  EXPECT_FALSE(has("uid-4")) << "ends";
  EXPECT_EQ(kubelet.gets(), 4);
  kubelet.set_pods_status({grpc::StatusCode::FAILED_PRECONDITION, "Kubelet is initializing"});
  EXPECT_FALSE(has("uid-1")) << "the kubelet cannot tell";
  kubelet.stop_pods_api();
  EXPECT_FALSE(has("uid-1")) << "the API is not served";
}

TEST_F(PodsWatchTest, AMissingSocketIsPolled) {
  start();
  EXPECT_EQ(watch.view().state, PodsWatchView::State::kAbsent);
  EXPECT_EQ(clock.sleepers(), 1);
  kubelet.start_pods_api();
  clock.advance(29s);
  settle();
  EXPECT_EQ(watch.view().state, PodsWatchView::State::kAbsent);
  clock.advance(1s);
  EXPECT_TRUE(until(PodsWatchView::State::kWatching));
}

TEST_F(PodsWatchTest, AKubeletWithoutTheCallIsNotAskedAgain) {
  kubelet.set_pods_status({grpc::StatusCode::UNIMPLEMENTED, "unknown service v1alpha1.Pods"});
  kubelet.start_pods_api();
  start();
  ASSERT_TRUE(until([&] { return watch.view().state == PodsWatchView::State::kAbsent && clock.sleepers() == 1; }));
  for (int i = 0; i < 10; ++i) {
    clock.advance(30s);
    settle();
  }
  EXPECT_EQ(kubelet.watches(), 1);
  kubelet.stop_pods_api();
  kubelet.set_pods_status(grpc::Status::OK);
  kubelet.start_pods_api();
  EXPECT_TRUE(until_watching_again(2)) << "another kubelet may serve it";
}

TEST_F(PodsWatchTest, UnreadablePodsAreIgnored) {
  start_synced();
  kubelet.send_raw_event(api::pods::ADDED, "\xff\xff\xff");
  kubelet.send_raw_event(api::pods::ADDED, "");
  kubelet.send_raw_event(api::pods::UNSPECIFIED, "");
  kubelet.send_raw_event(static_cast<api::pods::EventType>(77), "");
  kubelet.put_pod(kTrainerPod);
  EXPECT_TRUE(until([&] { return watch.uid_of("ml", "trainer-0") == "uid-1"; }));
  EXPECT_EQ(watch.view().pods, 1);
  EXPECT_EQ(watch.view().state, PodsWatchView::State::kWatching);
}

TEST_F(PodsWatchTest, CanBeDestroyedWhileTheStreamIsOpen) {
  start_synced();
  const auto set = clients.current();
  watch.stop();
  ASSERT_TRUE(until([&] { return ended; }));
  for (int i = 0; i < 20; ++i) kubelet.put_pod(kTrainerPod);
  // Only the slot and this test hold the clients once gRPC has released them.
  EXPECT_TRUE(until([&] { return set.use_count() == 2; }));
  EXPECT_EQ(watch.uid_of("ml", "trainer-0"), "");
}

}  // namespace
}  // namespace cardcage
