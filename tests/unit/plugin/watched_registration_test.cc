// Registration of a ResourceServer through plugins_registry, and its preference for kubelet.sock.
#include "host/kubelet/watched_registration.h"

#include <sys/inotify.h>

#include "tests/fakes/fake_kubelet.h"
#include "tests/unit/plugin/resource_harness.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds, std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

class WatchedRegistrationTest : public ResourceHarness {
 protected:
  void SetUp() override { list(devices_of(4)); }
  void TearDown() override {
    ResourceHarness::TearDown();
    kubelet.reset();
    devices.reset();
  }
  void run_kubelet(bool with_registry = true) {
    devices = std::make_unique<FakeDeviceManager>(FakeDeviceManagerOptions{.folder = folder()});
    if (with_registry) run_registry();
  }
  void run_registry() {
    FakeKubeletOptions wanted{.root = root.path()};
    wanted.first_backoff = milliseconds(50);
    wanted.devices = devices.get();
    kubelet = std::make_unique<FakeKubelet>(std::move(wanted));
  }
  bool registered_again(std::size_t times) { return ResourceHarness::registered_again(*devices, times); }
  std::uint64_t socket_inode() {
    const auto there = socket_identity(registry_socket());
    return there ? there->inode : 0;
  }

  std::unique_ptr<FakeDeviceManager> devices;
  std::unique_ptr<FakeKubelet> kubelet;
};

TEST_F(WatchedRegistrationTest, TellsWhoItIsUnderAnyAuthority) {
  start(RegistrationWay::kRegistry);
  ASSERT_EQ(socket(), registry_socket());
  for (const char* authority : {"localhost", "%2Fvar%2Flib%2Fkubelet%2Fplugins_registry%2Fx.sock", "a b"}) {
    grpc::ChannelArguments arguments;
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, authority);
    const auto channel =
        grpc::CreateCustomChannel("unix:" + registry_socket().native(), grpc::InsecureChannelCredentials(), arguments);
    api::registration::PluginInfo info;
    const auto answered = api::registration::Registration::NewStub(channel)->GetInfo(context().get(), {}, &info);
    ASSERT_TRUE(answered.ok()) << authority << ": " << answered.error_message();
    EXPECT_EQ(info.type(), "DevicePlugin");
    EXPECT_EQ(info.name(), kResource);
    EXPECT_EQ(info.endpoint(), "") << "this socket serves both";
    EXPECT_THAT(info.supported_versions(), ElementsAre("v1beta1"));
  }
  EXPECT_TRUE(eventually([&] { return state() == RegistrationState::kAsked; }));
}

TEST_F(WatchedRegistrationTest, TheSocketAppearsWhenItListens) {
  fs::create_directories(registry());
  const UniqueFd events(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ::inotify_add_watch(events.get(), registry().c_str(), IN_CREATE | IN_MOVED_TO);
  start(RegistrationWay::kRegistry);
  socket();
  alignas(inotify_event) char buffer[1024];
  const ssize_t size = ::read(events.get(), buffer, sizeof buffer);
  std::vector<std::string> seen;
  for (ssize_t at = 0; at < size;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
    seen.push_back(((event->mask & IN_CREATE) != 0 ? "create " : "moved to ") + std::string(event->name));
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
  }
  EXPECT_THAT(seen,
              ElementsAre("create .cardcage-example.com_gpu-reg.sock", "moved to cardcage-example.com_gpu-reg.sock"));
}

TEST_F(WatchedRegistrationTest, RegistersListsAndAllocates) {
  run_kubelet();
  start(RegistrationWay::kRegistry);
  ASSERT_TRUE(registered_again(1));
  ASSERT_TRUE(wait_registered());
  EXPECT_EQ(status().way, RegistrationWay::kRegistry);
  EXPECT_TRUE(devices->admit("pod-1", "main", kResource, 1));
  EXPECT_EQ(devices->attempts(), 0u) << "never both ways";
}

TEST_F(WatchedRegistrationTest, ShowsARefusalAndMakesANewSocket) {
  run_kubelet(false);
  run_registry();
  kubelet->refuse("not on this node");
  start(RegistrationWay::kRegistry);
  ASSERT_TRUE(eventually([&] { return state() == RegistrationState::kRefused; }));
  EXPECT_EQ(status().registration.error, "not on this node");
  const auto before = socket_inode();
  clock.advance(seconds(4));
  EXPECT_EQ(socket_inode(), before);
  kubelet->refuse("");
  EXPECT_TRUE(in_time([&] { return state() == RegistrationState::kRegistered; }));
  EXPECT_TRUE(registered_again(1));
}

TEST_F(WatchedRegistrationTest, MakesNewSocketsWithGrowingPausesWhenTheKubeletNeverAsks) {
  run_kubelet(false);
  start(RegistrationWay::kRegistry);
  const auto first = (socket(), socket_identity(registry_socket()));
  clock.advance(seconds(6));
  auto second = first;
  ASSERT_TRUE(eventually([&] { return (second = socket_identity(registry_socket())) && second != first; }));
  clock.advance(seconds(6));
  status();
  EXPECT_EQ(socket_identity(registry_socket()), second);
  EXPECT_EQ(status().way, RegistrationWay::kRegistry) << "as configured";
}

TEST_F(WatchedRegistrationTest, MakesANewSocketWhenTheKubeletAsksAndReportsNothing) {
  run_kubelet(false);
  start(RegistrationWay::kRegistry);
  socket();
  const auto first = socket_identity(registry_socket());
  const DriverClients asking(registry_socket());
  api::registration::PluginInfo info;
  ASSERT_TRUE(asking.registration->GetInfo(context().get(), {}, &info).ok());
  ASSERT_TRUE(eventually([&] { return state() == RegistrationState::kAsked; }));
  clock.advance(seconds(10));
  status();
  EXPECT_EQ(socket_identity(registry_socket()), first) << "it may be dialing";
  EXPECT_TRUE(in_time([&] { return socket_identity(registry_socket()) != first; }));
  EXPECT_TRUE(eventually([&] { return state() == RegistrationState::kWaiting; }));
}

TEST_F(WatchedRegistrationTest, ARestartedKubeletComesByItself) {
  run_kubelet();
  start(RegistrationWay::kRegistry);
  ASSERT_TRUE(registered_again(1));
  ASSERT_TRUE(wait_registered());
  const auto before = socket_identity(registry_socket());
  kubelet.reset();
  devices->stop();
  ASSERT_TRUE(eventually([&] { return status().streams == 0; }));
  devices->start();
  run_registry();
  ASSERT_TRUE(registered_again(2));
  EXPECT_EQ(socket_identity(registry_socket()), before);
  EXPECT_EQ(state(), RegistrationState::kRegistered);
}

TEST_F(WatchedRegistrationTest, MakesANewSocketWhenAStreamEndsAndTheKubeletRuns) {
  run_kubelet();
  start(RegistrationWay::kRegistry);
  ASSERT_TRUE(registered_again(1));
  ASSERT_TRUE(wait_registered());
  const Instant begin = std::chrono::steady_clock::now();
  devices->plugin_disconnected(kResource, registry_socket());
  ASSERT_TRUE(registered_again(2));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(1));
}

TEST_F(WatchedRegistrationTest, MakesAWipedSocketAgain) {
  run_kubelet();
  start(RegistrationWay::kRegistry);
  ASSERT_TRUE(registered_again(1));
  const Instant begin = std::chrono::steady_clock::now();
  fs::remove(registry_socket());
  ASSERT_TRUE(registered_again(2));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(1));
}

TEST_F(WatchedRegistrationTest, TellsTheKubeletOfNewTraits) {
  run_kubelet();
  start(RegistrationWay::kRegistry);
  expect_new_traits_told(*devices);
}

TEST_F(WatchedRegistrationTest, AutoIsKubeletSock) {
  run_kubelet();
  start(RegistrationWay::kAuto);
  ASSERT_TRUE(registered_again(1));
  EXPECT_EQ(status().way, RegistrationWay::kKubelet);
  EXPECT_FALSE(fs::exists(registry_socket())) << "never both ways";
}

TEST_F(WatchedRegistrationTest, AutoIsTheRegistryWhereOnlyTheRegistryExists) {
  fs::create_directories(registry());
  start(RegistrationWay::kAuto);
  socket();
  EXPECT_EQ(status().way, RegistrationWay::kRegistry);
}

TEST_F(WatchedRegistrationTest, TakesItsSocketAwayWhenItStops) {
  run_kubelet();
  start(RegistrationWay::kRegistry);
  ASSERT_TRUE(registered_again(1));
  stop();
  EXPECT_TRUE(fs::is_empty(registry()));
  EXPECT_TRUE(devices->wait_allocatable(kResource, 0));
}

}  // namespace
}  // namespace cardcage
