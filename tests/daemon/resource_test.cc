// The real daemon with the mock module behind the device-plugin API, and a fake kubelet that uses it.
#include <gmock/gmock.h>

#include <signal.h>

#include <future>

#include "host/core/file.h"
#include "tests/daemon/daemon_fixture.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/fake_pod_resources.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using namespace std::chrono_literals;

// Runs with each kind of registration.
class ResourceTest : public DaemonTest, public ::testing::WithParamInterface<const char*> {
 protected:
  ResourceTest() { serve("devices = [\"fpga:4\", \"gpu:2\"]"); }

  void serve(const std::string& options, const std::string& rule = "", const std::string& sections = "",
             const std::string& resource = kFpga) {
    daemon.configure(daemon.node_section((daemon.folder() / "node").native()) + sections +
                     "[[module]]\nname = \"mock\"\npath = \"libcardcage_mock.so\"\n[module.options]\nmount_dir = \"" +
                     hardware().native() + "\"\nscript_file = \"" + script().native() + "\"\n" + options +
                     "\n[[module.serve]]\napi = \"device-plugin\"\nresource = \"" + resource + "\"\nregistration = \"" +
                     GetParam() + "\"\nselect = { kind = \"fpga\" }\n" + rule +
                     "\n[[module.serve]]\napi = \"dra\"\ndriver = \"" + kDriver + "\"\n");
  }

  void start_and_list(std::size_t count) {
    daemon.start();
    ASSERT_TRUE(manager.wait_allocatable(kFpga, count)) << daemon.log();
  }
  // Admits a pod with one container and adds it to the kubelet's lists.
  std::vector<std::string> run_pod(const std::string& name, std::size_t count) {
    auto grant = manager.admit(name, "main", kFpga, count);
    EXPECT_TRUE(grant) << grant.error().message;
    if (!grant) return {};
    pods.put_pod({"default", name, "uid-" + name, {{"main", {{kFpga, grant->ids}}}}});
    return grant->ids;
  }
  void end_pod(const std::string& name) {
    pods.remove_pod("uid-" + name);
    manager.remove_pod(name);
  }

  FakePodResources pods{daemon.folder() / "kubelet", daemon.folder() / "device-plugins"};
};

TEST_P(ResourceTest, APodGetsItsDevicesAndTheyAreFreedAfterIt) {
  pods.start();
  start_and_list(4);
  const auto grant = manager.admit("train", "main", kFpga, 2);
  ASSERT_TRUE(grant) << grant.error().message;
  ASSERT_EQ(grant->response.cdi_devices_size(), 2);
  EXPECT_THAT(grant->response.cdi_devices(0).name(), StartsWith("cardcage.mock.cardcage.dev_fpga/device=fpga-"));
  EXPECT_THAT(files(daemon.folder() / "cdi"), SizeIs(2));
  EXPECT_THAT(files(hardware()), SizeIs(2));
  pods.put_pod({"default", "train", "uid-train", {{"main", {{kFpga, grant->ids}}}}});

  ASSERT_TRUE(manager.wait_for([&] { return pods.lists() >= 2; }, 15s)) << daemon.log();
  EXPECT_THAT(files(hardware()), SizeIs(2)) << "a running pod keeps them";
  end_pod("train");
  pods.write_checkpoint();
  EXPECT_TRUE(manager.wait_for([&] { return files(hardware()).empty(); }, 20s)) << daemon.log();
  EXPECT_TRUE(manager.wait_for([&] { return files(daemon.folder() / "cdi").empty(); }));
}

// Without a serving daemon the kubelet would reject the pods that it admits, for as long as a call or a module takes.
TEST_P(ResourceTest, IsServedUntilTheNextDaemonCanStart) {
  serve("devices = [\"fpga:4\", \"gpu:2\"]\nprepare_delay = \"1s\"\nhang = \"stop\"", "",
        "[deadlines]\nstop = \"1s\"\n");
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  ASSERT_TRUE(manager.wait_allocatable(kFpga, 4)) << daemon.log();
  auto prepared = std::async(std::launch::async, [&] { return prepare(claim); });
  ASSERT_TRUE(shows("claims", "preparing"));
  ASSERT_EQ(::kill(daemon.pid(), SIGTERM), 0);
  EXPECT_THAT(prepared.get(), SizeIs(1)) << "calls end in time";
  EXPECT_EQ(manager.amounts(kFpga)->allocatable, 4u) << "the module still stops";
  ASSERT_TRUE(manager.wait_for([&] { return manager.amounts(kFpga)->allocatable == 0; })) << daemon.log();
  EXPECT_TRUE(daemon.wait_for_exit(500ms)) << "the daemon waits for nothing else";
  EXPECT_EQ(daemon.stop(), 0);
}

TEST_P(ResourceTest, AnInitContainerAndTheAppContainerShareTheDevice) {
  start_and_list(4);
  const auto init = manager.admit("train", "init", kFpga, 1);
  ASSERT_TRUE(init);
  const auto app = manager.admit("train", "main", kFpga, 1, init->ids);
  ASSERT_TRUE(app) << app.error().message;
  EXPECT_EQ(app->ids, init->ids);
  EXPECT_THAT(files(hardware()), SizeIs(1));
}

TEST_P(ResourceTest, TheKubeletRefusesMoreThanItHas) {
  start_and_list(4);
  run_pod("all", 4);
  EXPECT_FALSE(manager.admit("more", "main", kFpga, 1));
}

TEST_P(ResourceTest, TheResourceReturnsWithinASecondOfAKubeletRestart) {
  start_and_list(4);
  run_pod("train", 1);
  manager.stop();
  manager.start();
  kubelet.restart();  // the plugin manager
  const Instant begun = std::chrono::steady_clock::now();
  ASSERT_TRUE(manager.wait_allocatable(kFpga, 4)) << daemon.log();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 1s);
  EXPECT_THAT(files(hardware()), SizeIs(1));
}

TEST_P(ResourceTest, AContainerStartsAlthoughTheDaemonDiedAfterAllocate) {
  start_and_list(4);
  const auto grant = manager.admit("train", "main", kFpga, 1);
  ASSERT_TRUE(grant);
  daemon.crash();
  std::filesystem::remove_all(daemon.folder() / "cdi");
  const auto lists = manager.lists(kFpga);
  daemon.start();
  ASSERT_TRUE(manager.wait_for([&] { return manager.lists(kFpga) > lists; })) << daemon.log();
  ASSERT_TRUE(manager.wait_allocatable(kFpga, 4));
  // Written at the start, or after another prepare by the module if the ledger had no time to record the device.
  const std::vector<std::string> file = {"cardcage.mock.cardcage.dev_fpga-device_" + grant->ids[0] + ".json"};
  EXPECT_TRUE(manager.wait_for([&] { return files(daemon.folder() / "cdi") == file; })) << daemon.log();
  EXPECT_TRUE(manager.start_container("train", "main", kFpga));
  EXPECT_THAT(files(hardware()), SizeIs(1));
}

TEST_P(ResourceTest, ALostLedgerIsRebuiltFromTheKubelet) {
  pods.start();
  start_and_list(4);
  const auto ids = run_pod("train", 1);
  ASSERT_THAT(ids, SizeIs(1));
  daemon.crash();
  std::filesystem::remove_all(daemon.folder() / "state");
  std::filesystem::remove_all(daemon.folder() / "cdi");
  daemon.start();
  EXPECT_TRUE(manager.wait_for([&] { return !files(daemon.folder() / "cdi").empty(); }, 20s)) << daemon.log();
}

TEST_P(ResourceTest, ARemovedDeviceOfAPodStaysListedAndRecovers) {
  start_and_list(4);
  const auto ids = run_pod("train", 1);
  ASSERT_THAT(ids, SizeIs(1));
  play("remove " + ids[0]);
  ASSERT_TRUE(manager.wait_allocatable(kFpga, 3));
  EXPECT_EQ(manager.devices(kFpga).at(ids[0]).health(), "Unhealthy");
  play("add " + ids[0]);
  EXPECT_TRUE(manager.wait_allocatable(kFpga, 4));
}

TEST_P(ResourceTest, ADeviceThatNothingMonitorsIsHandedOut) {
  start_and_list(4);
  play("health fpga-1 bad cause=Ecc");
  ASSERT_TRUE(manager.wait_allocatable(kFpga, 3));
  play("health fpga-1 unmonitored cause=Ecc");
  EXPECT_TRUE(manager.wait_allocatable(kFpga, 4));
}

TEST_P(ResourceTest, ARemovedFreeDeviceBecomesUnhealthyAndThenDisappears) {
  start_and_list(4);
  play("remove fpga-3");
  ASSERT_TRUE(manager.wait_allocatable(kFpga, 3));
  EXPECT_EQ(manager.amounts(kFpga)->capacity, 4u);
  EXPECT_TRUE(manager.wait_for([&] { return manager.amounts(kFpga)->capacity == 3; }));
}

TEST_P(ResourceTest, AnUnhealthyDeviceIsNotOffered) {
  start_and_list(4);
  play("health fpga-1 bad Overheated 120 degrees");
  EXPECT_TRUE(manager.wait_allocatable(kFpga, 3));
  play("health fpga-1 ok");
  EXPECT_TRUE(manager.wait_allocatable(kFpga, 4));
}

TEST_P(ResourceTest, AWholeDeviceIsNotOfferedWhileItsPartitionIsHeld) {
  constexpr const char *kWhole = "mock.cardcage.dev/gpu", *kPart = "mock.cardcage.dev/part";
  const auto rule = [](const std::string& resource, const std::string& parent) {
    return "[[module.serve]]\napi = \"device-plugin\"\nresource = \"" + resource +
           "\"\nselect = { kind = \"gpu\", parent = \"" + parent + "\" }\n";
  };
  serve("devices = [\"gpu:1\"]\npartitions = 2", rule(kWhole, "") + rule(kPart, "gpu-0"));
  daemon.start();
  ASSERT_TRUE(manager.wait_allocatable(kWhole, 1)) << daemon.log();
  ASSERT_TRUE(manager.wait_allocatable(kPart, 2)) << daemon.log();
  ASSERT_TRUE(manager.admit("train", "main", kPart, 1));
  EXPECT_TRUE(manager.wait_allocatable(kWhole, 0)) << daemon.log();
  EXPECT_EQ(manager.amounts(kPart)->allocatable, 2u) << "the other half may be given to another pod";
  EXPECT_THAT(cagectl("devices").text, HasSubstr("unhealthy (PartitionInUse)"));
}

TEST_P(ResourceTest, AWorkerThatIsKilledCostsNoPod) {
  start_and_list(4);
  const auto lists = manager.lists(kFpga);
  ASSERT_EQ(::kill(daemon.workers().at(0), SIGKILL), 0);
  ASSERT_TRUE(logged("module is away"));
  const auto grant = manager.admit("train", "main", kFpga, 1);
  ASSERT_TRUE(grant) << grant.error().message;
  EXPECT_THAT(files(hardware()), SizeIs(1));
  EXPECT_EQ(manager.lists(kFpga), lists) << "the list is unchanged";
}

TEST_P(ResourceTest, AFaultyDeviceIsNotSparedWhileItsModuleRestarts) {
  start_and_list(4);
  play("health fpga-1 bad Overheated 120 degrees");
  ASSERT_TRUE(manager.wait_allocatable(kFpga, 3));
  ASSERT_EQ(::kill(daemon.workers().at(0), SIGKILL), 0);
  ASSERT_TRUE(logged("module is away"));
  EXPECT_EQ(manager.amounts(kFpga)->allocatable, 3u);
}

TEST_P(ResourceTest, AModuleThatStaysAwayTakesItsDevicesFromTheList) {
  serve("devices = [\"fpga:4\"]", "restart_grace = \"100ms\"");
  start_and_list(4);
  ASSERT_EQ(::kill(daemon.workers().at(0), SIGKILL), 0);
  EXPECT_TRUE(manager.wait_allocatable(kFpga, 0)) << daemon.log();
  EXPECT_TRUE(manager.wait_allocatable(kFpga, 4)) << daemon.log();
}

TEST_P(ResourceTest, ADeviceThatFailsIsReportedAndNotOfferedForAWhile) {
  serve("devices = [\"fpga:1\"]\nfail_prepare = [\"fpga-0 no power in slot 3\"]");
  start_and_list(1);
  const auto refused = manager.admit("train", "main", kFpga, 1);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("device 'fpga-0' of resource 'mock.cardcage.dev/fpga'"),
                                             HasSubstr("no power in slot 3")));
  EXPECT_TRUE(manager.wait_allocatable(kFpga, 0)) << "otherwise the scheduler sends the next pod";
}

TEST_P(ResourceTest, AModuleThatHangsInAllocateFailsTheCallAndAffectsNoOther) {
  serve("devices = [\"fpga:1\"]\nhang = \"prepare\"", "",
        "[deadlines]\nallocate = \"300ms\"\n"
        "[[module]]\nname = \"other\"\npath = \"libcardcage_mock.so\"\n[module.options]\ndevices = [\"nic:1\"]\n"
        "[[module.serve]]\napi = \"device-plugin\"\nresource = \"mock.cardcage.dev/nic\"\n");
  start_and_list(1);
  const Instant begun = std::chrono::steady_clock::now();
  const auto refused = manager.admit("train", "main", kFpga, 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 2s);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("fpga-0"));
  ASSERT_TRUE(manager.wait_allocatable("mock.cardcage.dev/nic", 1));
  EXPECT_TRUE(manager.admit("net", "main", "mock.cardcage.dev/nic", 1));
}

TEST_P(ResourceTest, ReplicasAreAllocatedSeparately) {
  serve("devices = [\"fpga:1\"]", "replicas = 3\nfail_requests_greater_than_one = true");
  start_and_list(3);
  EXPECT_THAT(run_pod("a", 1), ElementsAre(StartsWith("fpga-0::")));
  EXPECT_THAT(run_pod("b", 1), SizeIs(1));
  EXPECT_THAT(files(hardware()), SizeIs(1)) << "one device for both pods";
  EXPECT_TRUE(manager.admit("c", "main", kFpga, 1));
}

TEST_P(ResourceTest, APatternServesAResourceForEachValueOfAnAttribute) {
  const auto fpga = [](const std::string& region) { return "mock.cardcage.dev/fpga-" + region; };
  // The second device disappears before the module lists its devices for the first time.
  play("remove fpga-1");
  serve("devices = [\"fpga:2\"]\ndiscover_delay = \"300ms\"", "", "", "mock.cardcage.dev/fpga-{region}");
  daemon.start();
  ASSERT_TRUE(manager.wait_allocatable(fpga("d500"), 1)) << daemon.log();
  EXPECT_EQ(manager.amounts(fpga("d501")), std::nullopt);
  play("add fpga-1");
  ASSERT_TRUE(manager.wait_allocatable(fpga("d501"), 1)) << daemon.log();
  EXPECT_EQ(manager.registrations(fpga("d500")), 1u);
  const auto grant = manager.admit("train", "main", fpga("d501"), 1);
  ASSERT_TRUE(grant) << grant.error().message;
  EXPECT_THAT(grant->ids, ElementsAre("fpga-1"));
  EXPECT_THAT(cagectl("status").text, AllOf(HasSubstr(fpga("d500") + " "), HasSubstr(fpga("d501") + " ")));

  play("remove fpga-0");
  EXPECT_TRUE(manager.wait_for([&] { return manager.amounts(fpga("d500"))->capacity == 0; })) << "and still served";
  const auto before = manager.registrations(fpga("d501"));
  play("remove fpga-1");
  daemon.crash();
  daemon.start();
  ASSERT_TRUE(manager.wait_for([&] { return manager.registrations(fpga("d501")) > before; })) << daemon.log();
  EXPECT_EQ(manager.devices(fpga("d501")).count("fpga-1"), 1u) << "a pod has it";
  EXPECT_EQ(manager.registrations(fpga("d500")), 1u) << "no device and no pod needs it after a restart";
}

TEST_P(ResourceTest, OneNodeServesBothApis) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  ASSERT_TRUE(manager.wait_allocatable(kFpga, 4)) << daemon.log();
  EXPECT_THAT(run_pod("train", 1), SizeIs(1));
  EXPECT_THAT(prepare(claim), SizeIs(1));
  EXPECT_TRUE(unprepare(claim));
}

TEST_P(ResourceTest, ASecondDaemonWaitsForTheFirstToExit) {
  start_and_list(4);
  run_pod("train", 1);
  DaemonProcess next{built_program(CARDCAGE_DAEMON), built_module("mock")};
  next.configure(read_file(daemon.folder() / "cardcage.toml", 1 << 20).value());
  next.start();
  ASSERT_TRUE(manager.wait_for([&] { return next.logged("waiting for another cardcage"); }));
  const auto before = manager.registrations(kFpga);
  EXPECT_EQ(daemon.stop(), 0);
  ASSERT_TRUE(manager.wait_for([&] { return manager.registrations(kFpga) > before; })) << next.log();
  EXPECT_TRUE(manager.wait_allocatable(kFpga, 4)) << next.log();
  EXPECT_EQ(next.stop(), 0);
}

TEST_P(ResourceTest, AWaitingDaemonExitsOnSigterm) {
  start_and_list(4);
  DaemonProcess next{built_program(CARDCAGE_DAEMON), built_module("mock")};
  next.configure(read_file(daemon.folder() / "cardcage.toml", 1 << 20).value());
  next.start();
  ASSERT_TRUE(manager.wait_for([&] { return next.logged("waiting for another cardcage"); }));
  const Instant begun = std::chrono::steady_clock::now();
  next.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 2s);
  EXPECT_TRUE(daemon.running());
}

INSTANTIATE_TEST_SUITE_P(Registration, ResourceTest, ::testing::Values("kubelet", "registry"),
                         [](const auto& about) { return about.param[0] == 'k' ? "Kubelet" : "Registry"; });

}  // namespace
}  // namespace cardcage
