// Registration of a ResourceServer with kubelet.sock, and changes to the folder by kubelets and people.
#include "host/plugin/resource_server.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <fstream>

#include "host/rpc/unix_socket.h"
#include "tests/unit/plugin/resource_harness.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds, std::chrono::seconds;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Leaves a socket file as a killed process does.
void leave_stale_socket(const fs::path& path) {
  const UniqueFd fd = new_unix_socket();
  const auto address = unix_address(path);
  ASSERT_TRUE(address);
  ASSERT_EQ(bind_unix(fd, *address), 0);
}

class ResourceServerTest : public ResourceHarness {
 protected:
  void SetUp() override { list(devices_of(4)); }
  void run_kubelet(bool up = true) { run_kubelet({.folder = folder()}, up); }
  void run_kubelet(FakeDeviceManagerOptions wanted, bool up = true) {
    kubelet = std::make_unique<FakeDeviceManager>(std::move(wanted), up);
  }
  bool registered_again(std::size_t times) { return ResourceHarness::registered_again(*kubelet, times); }
  // Stops the harness' server before the kubelet is destroyed.
  void TearDown() override {
    ResourceHarness::TearDown();
    kubelet.reset();
  }

  std::unique_ptr<FakeDeviceManager> kubelet;
};

TEST_F(ResourceServerTest, RegistersAlthoughTheKubeletCallsBackFirst) {
  run_kubelet();
  const Instant begin = std::chrono::steady_clock::now();
  start();
  ASSERT_TRUE(registered_again(1));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(1));
  ASSERT_TRUE(wait_registered());
  const auto now = status();
  EXPECT_EQ(now.way, RegistrationWay::kKubelet);
  EXPECT_EQ(now.socket.parent_path(), folder());
  EXPECT_THAT(now.socket.filename().native(), AllOf(StartsWith("cardcage-"), EndsWith(".sock")));
  EXPECT_THAT(kubelet->history(),
              ElementsAre("example.com/gpu " + now.socket.filename().native(), "list example.com/gpu 4"));
  EXPECT_EQ(now.streams, 1u);
  EXPECT_EQ(now.listed, 4u);
  EXPECT_EQ(now.left_out, 0u);
  EXPECT_EQ(now.registration.error, "");
}

TEST_F(ResourceServerTest, AllocatesForPodsAndRunsPreStart) {
  traits.pre_start = true;
  run_kubelet();
  start();
  ASSERT_TRUE(registered_again(1));
  EXPECT_CALL(allocations, pre_start(Ids{"gpu-00003", "gpu-00002"}, _)).Times(2);
  const auto granted = kubelet->admit("pod-1", "main", kResource, 2);
  ASSERT_TRUE(granted) << granted.error().message;
  EXPECT_THAT(granted->ids, ElementsAre("gpu-00003", "gpu-00002")) << "as preferred";
  EXPECT_EQ(granted->response.cdi_devices(0).name(), "example.com/gpu=gpu-00003");
  for (int starts = 0; starts < 2; ++starts)
    EXPECT_TRUE(kubelet->start_container("pod-1", "main", kResource))
        << "each start calls it, Allocate is not repeated";
  EXPECT_THAT(kubelet->admit("pod-2", "main", kResource, 3).error().message, HasSubstr("Available: 2"));
  // An app container gets the device of an init container of its pod.
  const auto reused = kubelet->admit("pod-1", "app", kResource, 1, granted->ids);
  ASSERT_TRUE(reused);
  EXPECT_THAT(reused->ids, ElementsAre("gpu-00003"));
}

TEST_F(ResourceServerTest, RegistersWhenAKubeletStartsForTheFirstTimeOrAgain) {
  fs::create_directories(folder());
  run_kubelet(false);
  start();
  ASSERT_TRUE(eventually([&] { return !status().registration.error.empty(); }));
  EXPECT_EQ(state(), RegistrationState::kWaiting);
  EXPECT_THAT(status().registration.error, HasSubstr("kubelet.sock' is missing; node.device_plugins_dir does not"));
  clock.advance(seconds(60));
  Instant begin = std::chrono::steady_clock::now();
  kubelet->start();
  ASSERT_TRUE(registered_again(1));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(1));

  const auto first = status().socket;
  begin = std::chrono::steady_clock::now();
  kubelet->restart();
  ASSERT_TRUE(registered_again(2));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(1));
  EXPECT_TRUE(fs::exists(status().socket));
  EXPECT_NE(status().socket, first) << "each registration has a path of its own";

  begin = std::chrono::steady_clock::now();
  kubelet->stop();
  fs::rename(folder(), root / "gone");
  fs::create_directory(folder());
  kubelet->start();
  ASSERT_TRUE(registered_again(3));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(2));
  EXPECT_TRUE(wait_registered());
}

TEST_F(ResourceServerTest, CallsADeadKubeletWithPausesUntilItComesBack) {
  run_kubelet();
  start();
  ASSERT_TRUE(registered_again(1));
  kubelet->stop();
  ASSERT_TRUE(eventually([&] { return status().registration.error.find("cannot reach") != std::string::npos; }));
  EXPECT_EQ(state(), RegistrationState::kWaiting);
  EXPECT_TRUE(eventually([&] { return status().streams == 0; }));
  clock.advance(seconds(60));
  const Instant begin = std::chrono::steady_clock::now();
  kubelet->start();
  ASSERT_TRUE(registered_again(2));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(1));
}

TEST_F(ResourceServerTest, MakesAWipedSocketAgain) {
  run_kubelet();
  start();
  ASSERT_TRUE(registered_again(1));
  const auto first = socket();
  fs::remove(first);
  EXPECT_TRUE(eventually([&] { return status().socket != first && fs::exists(status().socket); }, seconds(1)));
  EXPECT_EQ(status().streams, 1u) << "the kubelet's connection is unchanged";
  EXPECT_EQ(kubelet->registrations(kResource), 1u);
  EXPECT_TRUE(kubelet->allocate(kResource, {"gpu-00000"}));
}

TEST_F(ResourceServerTest, LeavesTheFilesOfOthersAlone) {
  run_kubelet();
  std::ofstream(folder() / "kubelet_internal_checkpoint_v0") << "precious";
  std::ofstream(folder() / "cardcage-note.sock") << "precious, too";
  leave_stale_socket(folder() / "other-plugin.sock");
  leave_stale_socket(folder() / "cardcage-of-a-dead-process.sock");
  start();
  ASSERT_TRUE(registered_again(1));
  stop();
  EXPECT_TRUE(fs::exists(folder() / "kubelet_internal_checkpoint_v0"));
  EXPECT_TRUE(fs::exists(folder() / "kubelet_internal_checkpoint"));
  EXPECT_TRUE(fs::exists(folder() / "cardcage-note.sock"));
  EXPECT_TRUE(fs::exists(folder() / "other-plugin.sock"));
  EXPECT_FALSE(fs::exists(folder() / "cardcage-of-a-dead-process.sock"));
}

TEST_F(ResourceServerTest, LeavesTheSocketsOfLivingServersAlone) {
  start();
  const auto first = socket();
  auto other = make(options(RegistrationWay::kKubelet, "example.com/nic"));
  ASSERT_TRUE(other);
  EXPECT_TRUE(fs::exists(first));
  stop_and_destroy(*other);
  EXPECT_TRUE(fs::exists(first));
}

TEST_F(ResourceServerTest, ShowsARefusalAndAsksAgainWithGrowingPauses) {
  run_kubelet();
  kubelet->behave({.refusal = "the ResourceName is not allowed here"});
  start();
  ASSERT_TRUE(eventually([&] { return state() == RegistrationState::kRefused; }));
  EXPECT_EQ(status().registration.error, "the ResourceName is not allowed here");
  ASSERT_TRUE(kubelet->wait_for([&] { return kubelet->attempts() >= 3; }));
  EXPECT_LE(kubelet->attempts(), 5u) << "no busy loop";
  kubelet->behave({});
  EXPECT_TRUE(in_time([&] { return state() == RegistrationState::kRegistered; }, 12));
  EXPECT_EQ(status().registration.error, "");
}

TEST_F(ResourceServerTest, SaysWhatAKubeletOfAnotherVersionWants) {
  run_kubelet({.folder = folder(), .versions = {"v2"}});
  start();
  ASSERT_TRUE(eventually([&] { return state() == RegistrationState::kRefused; }));
  EXPECT_THAT(
      status().registration.error,
      AllOf(HasSubstr("requested API version"), HasSubstr("Supported version is"),
            HasSubstr("cardcage speaks v1beta1 of the device-plugin API: serve the devices with api = \"dra\"")));
}

TEST_F(ResourceServerTest, ARestartOfTheKubeletEndsAStalledRegistration) {
  run_kubelet();
  kubelet->behave({.stall = true});
  start();
  ASSERT_TRUE(kubelet->wait_for([&] { return kubelet->attempts() == 1; }));
  EXPECT_EQ(status().listed, 4u) << "the core responds";
  kubelet->behave({});
  const Instant begin = std::chrono::steady_clock::now();
  kubelet->restart();
  ASSERT_TRUE(registered_again(1));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(2));
}

TEST_F(ResourceServerTest, StopsDuringAStalledRegistration) {
  run_kubelet();
  kubelet->behave({.stall = true});
  start();
  ASSERT_TRUE(kubelet->wait_for([&] { return kubelet->attempts() == 1; }));
  const Instant begin = std::chrono::steady_clock::now();
  stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(1));
}

TEST_F(ResourceServerTest, RegistersAgainWithPausesWhenTheStreamEndsRightAway) {
  run_kubelet();
  kubelet->behave({.hang_up = true});
  start();
  ASSERT_TRUE(kubelet->wait_for([&] { return kubelet->registrations(kResource) >= 3; }));
  EXPECT_LE(kubelet->registrations(kResource), 5u) << "no busy loop";
  kubelet->behave({});
  const auto usable = [this] {
    return kubelet->amounts(kResource)->allocatable == 4 && state() == RegistrationState::kRegistered;
  };
  EXPECT_TRUE(in_time(usable, 12));
}

TEST_F(ResourceServerTest, RegistersAgainWhenTheKubeletAsksForNoList) {
  run_kubelet();
  kubelet->behave({.deaf = true});
  start();
  ASSERT_TRUE(wait_registered());
  kubelet->behave({});
  clock.advance(seconds(6));
  ASSERT_TRUE(eventually([&] { return kubelet->registrations(kResource) == 2; }));
  EXPECT_TRUE(kubelet->wait_allocatable(kResource, 4));
}

TEST_F(ResourceServerTest, ANewInstanceIsSafeBecauseTheOldStreamEndsFirst) {
  run_kubelet();
  start();
  ASSERT_TRUE(registered_again(1));
  stop();
  ASSERT_TRUE(kubelet->wait_for([&] { return kubelet->amounts(kResource)->allocatable == 0; }));
  start();
  ASSERT_TRUE(registered_again(2));
  EXPECT_TRUE(kubelet->wait_for([&] { return kubelet->history().back() == "list example.com/gpu 4"; }));
  EXPECT_EQ(std::ranges::count(kubelet->history(), "-example.com/gpu"), 1);
}

TEST_F(ResourceServerTest, RecoversWhenALateStreamEndTakesItDown) {
  run_kubelet({.folder = folder(), .disconnect = milliseconds(150)});
  start();
  ASSERT_TRUE(registered_again(1));
  stop();
  start();
  ASSERT_TRUE(kubelet->wait_for([&] { return kubelet->registrations(kResource) >= 3; }));
  // The end of the second stream is handled late, too, and may hit the third.
  EXPECT_TRUE(kubelet->wait_for([&] {
    for (int step = 0; step < 2; ++step) clock.advance(milliseconds(50));
    return kubelet->amounts(kResource)->allocatable == 4;
  }));
}

TEST_F(ResourceServerTest, IsListedBeforeTheFirstPodIsAdmitted) {
  fs::create_directories(folder());
  run_kubelet(false);
  start();
  ASSERT_TRUE(eventually([&] { return !status().registration.error.empty(); }));
  kubelet->start();
  EXPECT_TRUE(kubelet->wait_for(
      [&] {
        const auto now = kubelet->amounts(kResource);
        return now && now->allocatable == 4;
      },
      seconds(1)));
  EXPECT_TRUE(kubelet->admit("pod-1", "main", kResource, 1));
}

TEST_F(ResourceServerTest, TellsTheKubeletOfNewTraits) {
  run_kubelet();
  start();
  expect_new_traits_told(*kubelet);
}

TEST_F(ResourceServerTest, ResourcesOfOneNodeDoNotWaitForEachOther) {
  run_kubelet();
  start();
  auto other = make(options(RegistrationWay::kKubelet, "example.com/nic"));
  ASSERT_TRUE(other);
  EXPECT_TRUE(registered_again(1));
  EXPECT_TRUE(kubelet->wait_allocatable("example.com/nic", 4));
  kubelet->restart();
  EXPECT_TRUE(registered_again(2));
  EXPECT_TRUE(kubelet->wait_allocatable("example.com/nic", 4));
  stop_and_destroy(*other);
  EXPECT_TRUE(kubelet->wait_allocatable("example.com/nic", 0));
  EXPECT_TRUE(kubelet->wait_allocatable(kResource, 4));
}

TEST_F(ResourceServerTest, SaysWhatIsWrongWithTheFolder) {
  fs::create_directories(folder());
  std::ofstream(folder() / "kubelet.sock") << "not a socket";
  start();
  EXPECT_TRUE(eventually([&] {
    return status().registration.error.find("is not a socket: is node.device_plugins_dir") != std::string::npos;
  }));
  stop();
  fs::remove_all(folder());
  std::ofstream(root / "device-plugins") << "in the way";
  start();
  EXPECT_TRUE(
      eventually([&] { return status().registration.error.find("cannot create folder") != std::string::npos; }));
  EXPECT_EQ(status().socket, "");
}

TEST_F(ResourceServerTest, SaysWhatIsWrongWithNamesAndPaths) {
  auto wanted = options();
  wanted.device_plugins_dir = "/" + std::string(90, 'd');
  const auto long_path = make(wanted);
  ASSERT_FALSE(long_path);
  EXPECT_THAT(long_path.error().message, AllOf(HasSubstr("resource 'example.com/gpu': socket path '"),
                                               HasSubstr("use a shorter node.device_plugins_dir")));
  const auto bad_name = make(options(RegistrationWay::kKubelet, "../gpu"));
  ASSERT_FALSE(bad_name);
  EXPECT_THAT(bad_name.error().message, HasSubstr("is not of the form 'example.com/name'"));
}

TEST_F(ResourceServerTest, TakesItsSocketAwayWhenItStops) {
  run_kubelet();
  start();
  ASSERT_TRUE(registered_again(1));
  const auto path = socket();
  stop();
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(kubelet->wait_allocatable(kResource, 0));
}

}  // namespace
}  // namespace cardcage
