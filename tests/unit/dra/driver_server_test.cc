#include "host/dra/driver_server.h"

#include <sys/inotify.h>
#include <sys/stat.h>

#include "tests/fakes/fake_kubelet.h"
#include "tests/unit/dra/driver_harness.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds, std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kPod1 = "3f0c6a86-54fd-4ab2-9ac6-f00dfeed0001";
constexpr const char* kPod2 = "3f0c6a86-54fd-4ab2-9ac6-f00dfeed0002";

// Distinguishes the sockets that succeed each other at a path; 0 = none. Inode numbers are reused too soon.
std::int64_t birth_of(const fs::path& path) {
  struct stat about{};
  return ::lstat(path.c_str(), &about) == 0 ? about.st_ctim.tv_sec * 1'000'000'000 + about.st_ctim.tv_nsec : 0;
}

class DriverServerTest : public DriverHarness {
 protected:
  void SetUp() override {
    ON_CALL(claims, prepare).WillByDefault([](ClaimRef ref, Instant) -> Task<Result<Devices>> {
      Devices devices;
      devices.push_back({{"req"}, "node-1", "gpu-0", {"v/c=" + ref.uid}, ""});
      co_return devices;
    });
    ON_CALL(claims, unprepare).WillByDefault([](ClaimRef, Instant) -> Task<Status> { co_return Status{}; });
  }
  void run_kubelet() { run_kubelet({.root = root.path()}); }
  void run_kubelet(FakeKubeletOptions wanted) { kubelet = std::make_unique<FakeKubelet>(std::move(wanted)); }
  RegistrationState state() { return status().registration.state; }
  bool prepares(const std::string& driver = kDriver) {
    const auto prepared = kubelet->prepare(driver, {claim});
    return prepared && prepared->at("uid-1").has_value();
  }

  const ClaimRef claim{"default", "claim-1", "uid-1"};
  std::unique_ptr<FakeKubelet> kubelet;
};

TEST_F(DriverServerTest, TellsTheKubeletItsNameAndVersions) {
  start();
  const DriverClients clients(registration_socket());
  api::registration::PluginInfo info;
  ASSERT_TRUE(clients.registration->GetInfo(context().get(), {}, &info).ok());
  EXPECT_EQ(info.type(), "DRAPlugin");
  EXPECT_EQ(info.name(), kDriver);
  EXPECT_EQ(info.endpoint(), service_socket().native());
  EXPECT_THAT(info.supported_versions(),
              ElementsAre("v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"));
  EXPECT_TRUE(eventually([&] { return state() == RegistrationState::kAsked; }));
}

TEST_F(DriverServerTest, TheServiceSocketIsThereBeforeTheRegistrationSocket) {
  fs::create_directories(service_socket().parent_path());
  fs::create_directories(registration_socket().parent_path());
  const UniqueFd events(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ::inotify_add_watch(events.get(), service_socket().parent_path().c_str(), IN_CREATE);
  ::inotify_add_watch(events.get(), registration_socket().parent_path().c_str(), IN_CREATE);
  start();
  alignas(inotify_event) char buffer[1024];
  const ssize_t size = ::read(events.get(), buffer, sizeof buffer);
  std::vector<std::string> created;
  for (ssize_t at = 0; at < size;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
    created.emplace_back(event->name);
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
  }
  EXPECT_THAT(created, ElementsAre("dra.sock", "gpu.example.com-reg.sock"));
}

TEST_F(DriverServerTest, RegistersPreparesAndUnprepares) {
  run_kubelet();
  start();
  ASSERT_TRUE(kubelet->wait_registered(kDriver));
  EXPECT_TRUE(eventually([&] { return state() == RegistrationState::kRegistered; }));
  EXPECT_TRUE(kubelet->wait_for([&] { return !kubelet->history().empty(); }));
  EXPECT_THAT(kubelet->history(), Contains("gpu.example.com v1.DRAPlugin"));
  const auto prepared = kubelet->prepare(kDriver, {claim});
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(prepared->at("uid-1"), (Devices{{{"req"}, "node-1", "gpu-0", {"v/c=uid-1"}, ""}}));
  const auto unprepared = kubelet->unprepare(kDriver, {claim});
  ASSERT_TRUE(unprepared) << unprepared.error().message;
  EXPECT_TRUE(unprepared->at("uid-1"));
}

TEST_F(DriverServerTest, SpeaksV1Beta1WithAnOldKubelet) {
  run_kubelet({.root = root.path(), .versions = {"v1beta1.DRAPlugin"}});
  start();
  ASSERT_TRUE(kubelet->wait_registered(kDriver));
  EXPECT_TRUE(kubelet->wait_for([&] { return !kubelet->history().empty(); }));
  EXPECT_THAT(kubelet->history(), ElementsAre("gpu.example.com v1beta1.DRAPlugin"));
  EXPECT_TRUE(prepares());
}

TEST_F(DriverServerTest, AKubeletThatStartsLaterOrAgainFindsTheDriver) {
  start();
  run_kubelet();
  ASSERT_TRUE(kubelet->wait_registered(kDriver));
  const auto socket = birth_of(registration_socket());
  kubelet->restart();
  ASSERT_TRUE(kubelet->wait_registered(kDriver));
  EXPECT_TRUE(prepares());
  EXPECT_EQ(birth_of(registration_socket()), socket)
      << "a restarted kubelet reads the folder again, so the socket stays";
}

TEST_F(DriverServerTest, MakesAWipedRegistrationSocketAgain) {
  run_kubelet();
  start();
  ASSERT_TRUE(kubelet->wait_registered(kDriver));
  const Instant begin = std::chrono::steady_clock::now();
  fs::remove(registration_socket());
  EXPECT_TRUE(kubelet->wait_for([&] { return kubelet->history().size() >= 3; }));
  EXPECT_TRUE(kubelet->wait_registered(kDriver));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(1));
  EXPECT_TRUE(prepares());
}

TEST_F(DriverServerTest, MakesWipedFoldersAgain) {
  start();
  ASSERT_TRUE(eventually([&] { return state() == RegistrationState::kWaiting; }));
  // The server may be faster than the wiping.
  std::error_code raced;
  fs::remove_all(root / "plugins_registry", raced);
  EXPECT_TRUE(eventually([&] { return birth_of(registration_socket()) != 0; }));
  fs::remove_all(root / "plugins", raced);
  EXPECT_TRUE(eventually([&] { return birth_of(service_socket()) != 0; }));
  run_kubelet();
  ASSERT_TRUE(kubelet->wait_registered(kDriver));
  EXPECT_TRUE(prepares());
}

TEST_F(DriverServerTest, RecordsARefusalKeepsServingAndOffersItselfAgain) {
  run_kubelet({.root = root.path(), .first_backoff = std::chrono::hours(1)});
  kubelet->refuse("driver name is not allowed here");
  start();
  ASSERT_TRUE(eventually([&] { return state() == RegistrationState::kRefused; }));
  EXPECT_EQ(status().registration.error, "driver name is not allowed here");
  const DriverClients clients(service_socket());
  api::dra_v1::NodePrepareResourcesResponse response;
  EXPECT_TRUE(clients.dra_v1->NodePrepareResources(context().get(), {}, &response).ok());

  const auto socket = birth_of(registration_socket());
  clock.advance(seconds(4));
  EXPECT_EQ(birth_of(registration_socket()), socket);
  clock.advance(seconds(6));
  EXPECT_TRUE(eventually([&] { return birth_of(registration_socket()) != socket; }));
  // The next pause is longer; a kubelet that accepts the driver ends the pauses.
  kubelet->refuse("");
  kubelet->restart();
  ASSERT_TRUE(kubelet->wait_registered(kDriver));
  EXPECT_TRUE(eventually([&] { return state() == RegistrationState::kRegistered; }));
  EXPECT_EQ(status().registration.error, "");
}

TEST_F(DriverServerTest, TwoInstancesOverlapDuringARollingUpdate) {
  run_kubelet();
  auto older = options(), newer = options();
  older.instance = kPod1;
  newer.instance = kPod2;
  start(std::move(older));
  ASSERT_TRUE(kubelet->wait_registered(kDriver));
  auto second = make(std::move(newer));
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_TRUE(kubelet->wait_for([&] { return kubelet->history().size() == 2; }));
  stop();
  EXPECT_TRUE(kubelet->wait_for([&] { return kubelet->history().size() == 3; }));
  EXPECT_TRUE(kubelet->registered(kDriver));
  EXPECT_TRUE(prepares());
  stop_and_destroy(*second);
}

TEST_F(DriverServerTest, TheLongestNamesStillRegister) {
  run_kubelet();
  auto longest = options(std::string(63, 'd'));
  longest.instance = kPod1;
  start(std::move(longest));
  EXPECT_LE(status().sockets.service.native().size(), kMaxSocketPath);
  EXPECT_TRUE(kubelet->wait_registered(std::string(63, 'd')));
  EXPECT_TRUE(prepares(std::string(63, 'd')));
}

TEST_F(DriverServerTest, ServesSeveralDriversNextToEachOther) {
  run_kubelet();
  start();
  auto other = make(options("nic.example.com"));
  ASSERT_TRUE(other);
  EXPECT_TRUE(kubelet->wait_registered(kDriver));
  EXPECT_TRUE(kubelet->wait_registered("nic.example.com"));
  stop_and_destroy(*other);
  EXPECT_TRUE(kubelet->wait_for([&] { return !kubelet->registered("nic.example.com"); }));
  EXPECT_TRUE(prepares());
}

TEST_F(DriverServerTest, LeavesAnotherOwnerOfItsNameAlone) {
  start();
  const auto second = make(options());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
  EXPECT_THAT(second.error().message, HasSubstr("driver 'gpu.example.com': '"));
  EXPECT_THAT(second.error().message, HasSubstr("stop the other instance, or set node.instance"));
  run_kubelet();
  EXPECT_TRUE(kubelet->wait_registered(kDriver));
}

TEST_F(DriverServerTest, SaysWhichFolderItCannotUse) {
  std::ofstream(root / "plugins") << "in the way";
  const auto refused = make(options());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("driver 'gpu.example.com': cannot create folder"));
}

TEST_F(DriverServerTest, ShowsItsHealthInThePodsUntilItAges) {
  run_kubelet();
  start();
  live.call([&] { health.set({{"node-1", "gpu-0", KubeletHealth::kUnhealthy, "Xid 79", clock.wall()}}); });
  ASSERT_TRUE(kubelet->wait_registered(kDriver));
  const auto shown = [&] { return kubelet->health(kDriver, "node-1", "gpu-0"); };
  const FakeKubelet::ShownHealth unhealthy{HealthState::kUnhealthy, "Xid 79"};
  EXPECT_TRUE(kubelet->wait_for([&] { return shown() == unhealthy; }));

  // A heartbeat arrives before the report is too old; without one the report is forgotten.
  kubelet->advance(seconds(25));
  const auto messages = kubelet->health_messages(kDriver);
  clock.advance(seconds(10));
  EXPECT_TRUE(kubelet->wait_for([&] { return kubelet->health_messages(kDriver) > messages; }));
  kubelet->advance(seconds(25));
  EXPECT_EQ(shown(), unhealthy);
  kubelet->advance(seconds(25));
  EXPECT_EQ(shown(), FakeKubelet::ShownHealth{});
}

TEST_F(DriverServerTest, TakesItsSocketsAwayWhenItStops) {
  run_kubelet();
  start();
  ASSERT_TRUE(kubelet->wait_registered(kDriver));
  stop();
  EXPECT_FALSE(fs::exists(service_socket()));
  EXPECT_FALSE(fs::exists(registration_socket()));
  EXPECT_TRUE(kubelet->wait_for([&] { return !kubelet->registered(kDriver); }));
}

}  // namespace
}  // namespace cardcage
