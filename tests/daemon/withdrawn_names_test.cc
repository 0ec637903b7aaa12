// Names that the daemon serves only to release claims, because the configuration changed while it was down.
#include <gmock/gmock.h>

#include "host/core/file.h"
#include "tests/daemon/daemon_fixture.h"
#include "tests/fakes/fake_pod_resources.h"

namespace cardcage {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr const char* kNext = "next.mock.cardcage.dev";
// No module lists its devices before the test has ended.
constexpr const char* kSlow = "devices = [\"gpu:4\"]\ndiscover_delay = \"20s\"";

class WithdrawnNamesTest : public DaemonTest {
 protected:
  // Leaves a claim with gpu-0, and the driver's slice.
  void hold() {
    claim = add_claim("one", {"gpu-0"});
    start_and_register();
    ASSERT_THAT(prepare(claim), SizeIs(1));
    ASSERT_TRUE(kubelet.wait_for([&] { return offers(kDriver); })) << daemon.log();
    daemon.crash();
  }
  // Whether a slice has the text.
  bool offers(const std::string& text) const {
    for (const auto& entry : fs::recursive_directory_iterator(daemon.folder() / "node/slices"))
      if (read_file(entry.path(), 1 << 20).value_or("").find('"' + text + '"') != std::string::npos) return true;
    return false;
  }
  bool loses(const std::string& text) {
    return kubelet.wait_for([&] { return !offers(text); });
  }
  std::vector<std::string> registration_sockets() const {
    std::vector<std::string> sockets;
    for (const auto& entry : fs::directory_iterator(daemon.folder() / "kubelet/plugins_registry"))
      sockets.push_back(entry.path().filename());
    return sockets;
  }

  ClaimRef claim;
};

TEST_F(WithdrawnNamesTest, ARenamedDriverLosesItsSlicesAtOnceAndItsSocketsWithTheLastClaim) {
  hold();
  configure("devices = [\"gpu:4\"]", kNext);
  start_and_register();
  EXPECT_TRUE(loses(kDriver)) << daemon.log();
  EXPECT_TRUE(kubelet.wait_for([&] { return offers(kNext); })) << daemon.log();
  EXPECT_TRUE(shows("status", "withdrawn: it is no longer configured")) << cagectl("status").text;
  EXPECT_TRUE(kubelet.registered(kDriver));
  EXPECT_TRUE(kubelet.wait_registered(kNext));
  EXPECT_THAT(registration_sockets(), SizeIs(2));

  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(hardware()), IsEmpty());
  EXPECT_TRUE(kubelet.wait_for([&] { return !kubelet.registered(kDriver); })) << daemon.log();
  EXPECT_THAT(registration_sockets(), SizeIs(1));
  EXPECT_TRUE(offers(kNext));
}

TEST_F(WithdrawnNamesTest, TheSlicesGoWithoutWaitingForAModule) {
  hold();
  configure(kSlow, kNext);
  start_and_register();
  EXPECT_TRUE(loses(kDriver)) << daemon.log();
}

TEST_F(WithdrawnNamesTest, ADriverWhoseModuleWasRemovedLosesItsSlices) {
  hold();
  daemon.configure(daemon.node_section((daemon.folder() / "node").native()));
  start_and_register();
  EXPECT_TRUE(loses(kDriver)) << daemon.log();
  EXPECT_TRUE(shows("status", "withdrawn: it is no longer configured"));
  EXPECT_TRUE(kubelet.registered(kDriver));
  EXPECT_FALSE(unprepare(claim)) << "only its module can release the device";
}

TEST_F(WithdrawnNamesTest, APoolThatIsNoLongerConfiguredGoesAtOnceAndItsClaimStays) {
  hold();
  ASSERT_TRUE(offers("node1"));
  const auto with_pool = [&](const std::string& options) {
    daemon.configure(daemon.node_section((daemon.folder() / "node").native()) +
                     "[[module]]\nname = \"mock\"\npath = \"libcardcage_mock.so\"\n[module.options]\nmount_dir = \"" +
                     hardware().native() + "\"\n" + options + "\n[[module.serve]]\ndriver = \"" + kDriver +
                     "\"\npool = \"other\"\n");
  };
  with_pool(kSlow);
  start_and_register();
  EXPECT_TRUE(kubelet.wait_for([&] { return files(daemon.folder() / "node/slices").empty(); })) << daemon.log();
  daemon.crash();
  with_pool("devices = [\"gpu:4\"]");
  start_and_register();
  EXPECT_TRUE(kubelet.wait_for([&] { return offers("other"); })) << daemon.log();
  EXPECT_THAT(prepare(claim), SizeIs(1)) << "a repeated call";
  EXPECT_TRUE(unprepare(claim));
  EXPECT_TRUE(kubelet.registered(kDriver));
}

TEST_F(WithdrawnNamesTest, ARenamedResourceStaysRegisteredUntilItsDevicesAreReleased) {
  FakePodResources pods{daemon.folder() / "kubelet", daemon.folder() / "device-plugins"};
  pods.start();
  const auto serve = [&](const std::string& resource) {
    daemon.configure(daemon.node_section((daemon.folder() / "node").native()) +
                     "[[module]]\nname = \"mock\"\npath = \"libcardcage_mock.so\"\n[module.options]\nmount_dir = \"" +
                     hardware().native() + "\"\ndevices = [\"fpga:2\"]\n[[module.serve]]\napi = \"device-plugin\"\n" +
                     "resource = \"" + resource + "\"\n");
  };
  serve(kFpga);
  daemon.start();
  ASSERT_TRUE(manager.wait_allocatable(kFpga, 2)) << daemon.log();
  const auto grant = manager.admit("train", "main", kFpga, 1);
  ASSERT_TRUE(grant) << grant.error().message;
  pods.put_pod({"default", "train", "uid-train", {{"main", {{kFpga, grant->ids}}}}});
  daemon.crash();

  const std::string next = std::string(kFpga) + "-next";
  serve(next);
  daemon.start();
  ASSERT_TRUE(manager.wait_for([&] { return manager.registrations(kFpga) == 2; })) << daemon.log();
  EXPECT_TRUE(manager.wait_for([&] {
    return manager.amounts(kFpga) == FakeDeviceManager::Amounts{.capacity = 1, .allocatable = 0};
  })) << daemon.log();
  EXPECT_TRUE(manager.wait_allocatable(next, 1)) << "the pod has the other device: " << daemon.log();
  EXPECT_TRUE(shows("status", "registered: it is no longer configured")) << cagectl("status").text;

  pods.remove_pod("uid-train");
  manager.remove_pod("train");
  pods.write_checkpoint();
  EXPECT_TRUE(manager.wait_for([&] { return files(hardware()).empty(); }, 20s)) << daemon.log();
  EXPECT_TRUE(manager.wait_allocatable(next, 2)) << daemon.log();
  EXPECT_TRUE(kubelet.wait_for([&] {
    return cagectl("status").text.find(std::string(kFpga) + " ") == std::string::npos;
  })) << cagectl("status").text;
}

}  // namespace
}  // namespace cardcage
