// Changes of the configuration while the daemon runs and pods have devices.
#include <gmock/gmock.h>
#include <signal.h>

#include "host/core/file.h"
#include "tests/daemon/admin_client.h"
#include "tests/daemon/daemon_fixture.h"
#include "tests/daemon/mounted_config_map.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/fake_pod_resources.h"
#include "tests/fakes/http_get.h"
#include "tests/fakes/proc.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr const char* kNic = "nic.mock.cardcage.dev";

class LiveConfigTest : public DaemonTest {
 protected:
  LiveConfigTest() {
    fs::create_directory(daemon.folder() / "hardware");
    configure_as(gpu() + others());
  }

  static std::string dra(const std::string& driver) { return "[[module.serve]]\ndriver = \"" + driver + "\"\n"; }
  static std::string plugin(const std::string& resource, const std::string& rule = "") {
    return "[[module.serve]]\napi = \"device-plugin\"\nresource = \"" + resource + "\"\n" + rule;
  }
  const std::uint16_t port = free_port();  // port of the pages

  std::string module(const std::string& name, const std::string& options, const std::string& rules) const {
    return "[[module]]\nname = \"" + name + "\"\npath = \"libcardcage_mock.so\"\n[module.options]\nmount_dir = \"" +
           (daemon.folder() / "hardware" / name).native() + "\"\n" + options + "\n" + rules;
  }
  std::string gpu(const std::string& options = "devices = [\"gpu:4\"]") const {
    return module("gpu", options, dra(kDriver));
  }
  // Modules that the test does not change.
  std::string others() const {
    return module("nic", "devices = [\"nic:2\"]", dra(kNic)) + module("fpga", "devices = [\"fpga:3\"]", plugin(kFpga));
  }
  std::string file(const std::string& modules, const std::string& sections = "") const {
    std::string config = daemon.node_section((daemon.folder() / "node").native()) + sections + modules;
    const std::string off = "listen = \"\"";
    return config.replace(config.find(off), off.size(), fmt::format("listen = \"127.0.0.1:{}\"", port));
  }
  void configure_as(const std::string& modules, const std::string& sections = "") const {
    daemon.configure(file(modules, sections));
  }
  void start_all() {
    start_and_register();
    ASSERT_TRUE(kubelet.wait_registered(kNic)) << daemon.log();
    ASSERT_TRUE(manager.wait_allocatable(kFpga, 3)) << daemon.log();
    ASSERT_TRUE(kubelet.wait_for([&] { return slices().size() == 2 && kubelet.health_messages(kNic) > 0; }));
  }
  std::vector<std::string> slices() const { return files(daemon.folder() / "node/slices"); }
  bool offers(const std::string& driver, const std::string& device) const {
    for (const auto& entry : fs::recursive_directory_iterator(daemon.folder() / "node/slices")) {
      const std::string text = entry.is_regular_file() ? read_file(entry.path(), 1 << 20).value_or("") : "";
      if (text.find(driver) != std::string::npos && text.find('"' + device + '"') != std::string::npos) return true;
    }
    return false;
  }

  std::size_t open_descriptors() const { return proc::open_files(daemon.pid()).size(); }
  // Messages to the kubelet and the API server about the modules that the test does not change.
  struct Traffic {
    Instant when;
    std::size_t lists = 0, health = 0, registrations = 0;
    std::map<std::string, fs::file_time_type> slices;
  };
  Traffic traffic() const {
    Traffic now{std::chrono::steady_clock::now(),
                manager.lists(kFpga),
                kubelet.health_messages(kNic),
                manager.registrations(kFpga),
                {}};
    for (const auto& entry : fs::recursive_directory_iterator(daemon.folder() / "node/slices"))
      if (read_file(entry.path(), 1 << 20).value_or("").find(kNic) != std::string::npos)
        now.slices[entry.path()] = entry.last_write_time();
    return now;
  }
  void expect_no_traffic_since(const Traffic& before) const {
    const Traffic now = traffic();
    EXPECT_EQ(now.lists, before.lists);
    EXPECT_EQ(now.registrations, before.registrations);
    EXPECT_EQ(now.slices, before.slices);
    // The daemon repeats the full health every 10 s.
    EXPECT_LE(now.health, before.health + static_cast<std::size_t>((now.when - before.when) / 10s));
  }

  AdminClient admin{daemon.folder() / "admin.sock"};
};

TEST_F(LiveConfigTest, AnAddedModuleAppearsAndDoesNotDisturbTheOthers) {
  configure_as(others());
  daemon.start();
  ASSERT_TRUE(kubelet.wait_registered(kNic)) << daemon.log();
  ASSERT_TRUE(manager.wait_allocatable(kFpga, 3));
  ASSERT_TRUE(kubelet.wait_for([&] { return kubelet.health_messages(kNic) > 0 && traffic().slices.size() == 1; }));
  const Traffic before = traffic();
  configure_as(gpu() + others());
  ASSERT_TRUE(kubelet.wait_registered(kDriver)) << daemon.log();
  EXPECT_TRUE(kubelet.wait_for([&] { return offers(kDriver, "gpu-3"); }));
  expect_no_traffic_since(before);
  EXPECT_EQ(admin.modules().modules(0).name(), "gpu") << "in the order of the file";
  EXPECT_THAT(admin.modules().modules(0).drivers(), ElementsAre(kDriver));
}

TEST_F(LiveConfigTest, ARemovedModuleDrains) {
  const ClaimRef held = add_claim("one", {"gpu-0"}), late = add_claim("two", {"gpu-1"});
  start_all();
  const auto before = prepare(held);
  configure_as(others());
  ASSERT_TRUE(kubelet.wait_for([&] { return !offers(kDriver, "gpu-1"); })) << daemon.log();
  EXPECT_EQ(admin.state_of("gpu"), "draining");
  EXPECT_THAT(admin.modules().modules(2).state().detail(),
              HasSubstr("it was removed from the configuration; 1 claim holds devices of it"));
  EXPECT_EQ(prepare(held), before) << "a repeated call";
  const auto refused = kubelet.prepare(kDriver, {late});
  ASSERT_TRUE(refused);
  ASSERT_FALSE(refused->at(late.uid));
  EXPECT_THAT(refused->at(late.uid).error().message, HasSubstr("its module 'gpu' is draining"));
  EXPECT_EQ(kubelet.health(kDriver, "node1", "gpu-0").state, HealthState::kHealthy) << "a pod has it";

  EXPECT_TRUE(unprepare(held));
  EXPECT_THAT(files(hardware() / "gpu"), IsEmpty());
  EXPECT_TRUE(logged("module is gone", 10s)) << daemon.log();
  EXPECT_TRUE(kubelet.wait_for([&] { return !kubelet.registered(kDriver); }));
  EXPECT_EQ(admin.state_of("gpu"), "");
  EXPECT_THAT(slices(), SizeIs(1));
}

TEST_F(LiveConfigTest, AModuleThatIsAddedBackStopsDraining) {
  const ClaimRef held = add_claim("one", {"gpu-0"}), late = add_claim("two", {"gpu-1"});
  start_all();
  prepare(held);
  configure_as(others());
  ASSERT_TRUE(kubelet.wait_for([&] { return !offers(kDriver, "gpu-1"); })) << daemon.log();
  configure_as(gpu() + others());
  EXPECT_TRUE(kubelet.wait_for([&] { return offers(kDriver, "gpu-1"); })) << daemon.log();
  EXPECT_EQ(admin.state_of("gpu"), "ready");
  EXPECT_THAT(prepare(late), SizeIs(1));
  EXPECT_TRUE(unprepare(held));
  EXPECT_THAT(daemon.log(), Not(HasSubstr("a new configuration of the module"))) << "the same instance";
}

TEST_F(LiveConfigTest, ARemovedModuleCanBeAddedAgain) {
  start_all();
  configure_as(others());
  ASSERT_TRUE(kubelet.wait_for([&] { return !kubelet.registered(kDriver); })) << daemon.log();
  configure_as(gpu() + others());
  ASSERT_TRUE(kubelet.wait_registered(kDriver)) << daemon.log();
  EXPECT_TRUE(kubelet.wait_for([&] { return offers(kDriver, "gpu-1"); })) << daemon.log();
  EXPECT_THAT(prepare(add_claim("one", {"gpu-0"})), SizeIs(1));
}

TEST_F(LiveConfigTest, NewOptionsStartANewInstanceAndClaimsLiveOn) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_all();
  const auto before = prepare(claim);
  configure_as(gpu("devices = [\"gpu:6\"]") + others());
  ASSERT_TRUE(kubelet.wait_for([&] { return offers(kDriver, "gpu-5"); })) << daemon.log();
  EXPECT_EQ(prepare(claim), before);
  EXPECT_THAT(files(hardware() / "gpu"), SizeIs(1)) << "reconciled, not released";
  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(hardware() / "gpu"), IsEmpty());
}

TEST_F(LiveConfigTest, RefusedOptionsLeaveTheModuleUnchanged) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_all();
  configure_as(gpu("devices = [\"gpu:6\"]\nno_such_option = 1") + others());
  ASSERT_TRUE(logged("the new configuration of a module is not taken over; the old one stays in use", 10s))
      << daemon.log();
  EXPECT_THAT(prepare(claim), SizeIs(1));
  EXPECT_FALSE(offers(kDriver, "gpu-5"));
  const auto status = admin.status();
  ASSERT_EQ(status.warnings_size(), 1);
  EXPECT_THAT(status.warnings(0),
              AllOf(HasSubstr("no_such_option"), HasSubstr("after a restart the module will not start")));
  EXPECT_EQ(status.config().state().level(), "bad");
  EXPECT_EQ(admin.modules().modules(0).state().level(), "bad");
  EXPECT_EQ(http_get(port, "/readyz"), "") << "not ready";
  EXPECT_EQ(http_get(port, "/healthz"), "ok\n");
  configure_as(gpu("devices = [\"gpu:5\"]") + others());
  EXPECT_TRUE(kubelet.wait_for([&] { return offers(kDriver, "gpu-4"); })) << daemon.log();
  EXPECT_EQ(admin.status().warnings_size(), 0);
  EXPECT_EQ(http_get(port, "/readyz"), "ok\n");
  EXPECT_TRUE(unprepare(claim));
}

TEST_F(LiveConfigTest, NewRulesMoveDevicesWithoutANewInstance) {
  start_all();
  configure_as(module("gpu", "devices = [\"gpu:4\"]",
                      "[[module.serve]]\ndriver = \"" + std::string(kDriver) + "\"\nselect = { name = \"gpu-0\" }\n" +
                          plugin("mock.cardcage.dev/gpu")) +
               others());
  ASSERT_TRUE(manager.wait_allocatable("mock.cardcage.dev/gpu", 3)) << daemon.log();
  EXPECT_TRUE(kubelet.wait_for([&] { return !offers(kDriver, "gpu-1") && offers(kDriver, "gpu-0"); }));
  EXPECT_TRUE(manager.admit("train", "main", "mock.cardcage.dev/gpu", 1));
  EXPECT_THAT(daemon.log(), Not(HasSubstr("a new configuration of the module")));
}

TEST_F(LiveConfigTest, ARenamedModuleKeepsItsClaims) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_all();
  const auto before = prepare(claim);
  std::string renamed = gpu();
  renamed.replace(renamed.find("\"gpu\""), 5, "\"nvidia\"");
  configure_as(renamed + others());
  ASSERT_TRUE(kubelet.wait_for([&] { return admin.state_of("nvidia") == "ready"; })) << daemon.log();
  EXPECT_EQ(admin.state_of("gpu"), "");
  EXPECT_EQ(prepare(claim), before);
  EXPECT_THAT(files(hardware() / "gpu"), SizeIs(1)) << "reconciled under the new name, not released";
  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(hardware() / "gpu"), IsEmpty());
}

TEST_F(LiveConfigTest, AModuleMovesIntoTheDaemonAndOutAgain) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_all();
  const auto before = prepare(claim);
  std::string inside = gpu();
  inside.insert(inside.find("[module.options]"), "isolation = \"in-process\"\n");
  for (const std::string& text : {inside, gpu()}) {
    configure_as(text + others());
    const std::string wanted = text == inside ? "in-process" : "process";
    ASSERT_TRUE(kubelet.wait_for([&] { return admin.modules().modules(0).isolation() == wanted; })) << daemon.log();
    EXPECT_EQ(prepare(claim), before);
  }
  EXPECT_THAT(files(hardware() / "gpu"), SizeIs(1));
  EXPECT_TRUE(unprepare(claim));
}

TEST_F(LiveConfigTest, AResourceKeepsItsAllocationsWhenItsRegistrationChanges) {
  start_all();
  const auto grant = manager.admit("train", "main", kFpga, 1);
  ASSERT_TRUE(grant) << grant.error().message;
  const auto registrations = manager.registrations(kFpga);
  configure_as(gpu() + module("nic", "devices = [\"nic:2\"]", dra(kNic)) +
               module("fpga", "devices = [\"fpga:3\"]", plugin(kFpga, "registration = \"registry\"\n")));
  ASSERT_TRUE(kubelet.wait_for([&] { return manager.registrations(kFpga) == registrations + 1; })) << daemon.log();
  EXPECT_TRUE(manager.wait_allocatable(kFpga, 3)) << daemon.log();
  EXPECT_EQ(admin.status().resources(0).way(), "registry");
  EXPECT_EQ(admin.status().resources(0).handed_out(), 1u);
}

TEST_F(LiveConfigTest, ARemovedResourceKeepsTheDevicesOfPods) {
  FakePodResources pods{daemon.folder() / "kubelet", daemon.folder() / "device-plugins"};
  pods.start();
  start_all();
  const auto grant = manager.admit("train", "main", kFpga, 1);
  ASSERT_TRUE(grant) << grant.error().message;
  pods.put_pod({"default", "train", "uid-train", {{"main", {{kFpga, grant->ids}}}}});
  configure_as(gpu() + module("nic", "devices = [\"nic:2\"]", dra(kNic)));
  ASSERT_TRUE(manager.wait_for([&] { return manager.amounts(kFpga)->capacity == 1; }, 10s)) << daemon.log();
  EXPECT_EQ(manager.devices(kFpga).count(grant->ids[0]), 1u);
  EXPECT_EQ(manager.amounts(kFpga)->allocatable, 0u) << "no other pod gets the device";
  EXPECT_EQ(admin.state_of("fpga"), "draining");

  pods.remove_pod("uid-train");
  manager.remove_pod("train");
  pods.write_checkpoint();
  EXPECT_TRUE(manager.wait_for([&] { return files(hardware() / "fpga").empty(); }, 20s)) << daemon.log();
  EXPECT_TRUE(manager.wait_for([&] { return admin.state_of("fpga").empty(); })) << daemon.log();
  EXPECT_TRUE(manager.wait_for([&] { return admin.status().resources_size() == 0; })) << daemon.log();
}

TEST_F(LiveConfigTest, ABrokenFileChangesNothingAndIsReportedWithItsPlace) {
  start_all();
  const std::string digest = admin.status().config().sha256();
  const std::string good = read_file(daemon.folder() / "cardcage.toml", 1 << 20).value();
  for (const std::string& broken : {std::string("[node]\nname = 7\n"), std::string(), good + "[[modul]]\n"}) {
    const auto failures = admin.status().config().failures();
    daemon.configure(broken);
    ASSERT_TRUE(kubelet.wait_for([&] { return admin.status().config().failures() > failures; })) << daemon.log();
    const auto status = admin.status();
    EXPECT_EQ(status.config().state().state(), "refused");
    EXPECT_THAT(status.config().errors(0), HasSubstr("cardcage.toml:"));
    EXPECT_THAT(status.warnings(0), HasSubstr("the configuration file is not applied: "));
    EXPECT_EQ(status.config().sha256(), digest);
    EXPECT_TRUE(kubelet.registered(kDriver));
    EXPECT_TRUE(offers(kDriver, "gpu-0"));
  }
  EXPECT_THAT(daemon.log(), HasSubstr("configuration refused; the previous one stays in effect"));
  daemon.configure(good);
  EXPECT_TRUE(kubelet.wait_for([&] { return admin.status().config().state().state() == "applied"; }));
  EXPECT_EQ(admin.status().warnings_size(), 0);
}

TEST_F(LiveConfigTest, AFileThatIsMissingForAMomentChangesNothing) {
  start_all();
  const fs::path kept = daemon.folder() / "kept";
  fs::rename(daemon.folder() / "cardcage.toml", kept);
  ASSERT_TRUE(kubelet.wait_for([&] { return admin.status().config().state().state() == "refused"; })) << daemon.log();
  EXPECT_THAT(admin.status().config().errors(0), HasSubstr("No such file"));
  EXPECT_TRUE(offers(kDriver, "gpu-0"));
  fs::rename(kept, daemon.folder() / "cardcage.toml");
  EXPECT_TRUE(kubelet.wait_for([&] { return admin.status().config().state().state() == "applied"; }));
}

TEST_F(LiveConfigTest, AnUpdatedConfigMapIsApplied) {
  MountedConfigMap mounted(daemon.folder(), "cardcage.toml");
  mounted.write(file(others()));
  daemon.start();
  ASSERT_TRUE(kubelet.wait_registered(kNic)) << daemon.log();
  mounted.write(file(gpu() + others()));
  EXPECT_TRUE(kubelet.wait_registered(kDriver)) << daemon.log();
}

TEST_F(LiveConfigTest, AReloadPlansAppliesAndReportsTheOutcome) {
  start_all();
  daemon.configure(file(gpu("devices = [\"gpu:5\"]") + module("nic", "devices = [\"nic:2\"]", dra(kNic)),
                        "[deadlines]\nstart = \"20s\"\n"));
  const auto plan = admin.reload(true);
  EXPECT_FALSE(plan.applied());
  std::vector<std::string> planned;
  for (const auto& step : plan.steps()) planned.push_back(step.action() + " " + step.subject());
  EXPECT_THAT(planned, ElementsAre("replace module gpu", "remove module fpga", "remove resource " + std::string(kFpga),
                                   "set deadlines.start"));
  const auto done = admin.reload();
  EXPECT_TRUE(done.applied());
  if (done.steps_size() == 4) {  // unless the daemon has applied the file by itself in between
    EXPECT_EQ(done.steps(0).outcome().state(), "ready");
  }
  EXPECT_TRUE(kubelet.wait_for([&] { return offers(kDriver, "gpu-4"); }));
}

TEST_F(LiveConfigTest, AChangeThatNeedsARestartIsReportedAndTheRestIsApplied) {
  start_all();
  std::string text = file(gpu("devices = [\"gpu:5\"]") + others(), "[log]\nformat = \"json\"\n");
  const std::string before = "name = \"node1\"";
  text.replace(text.find(before), before.size(), "name = \"node2\"");
  daemon.configure(text);
  ::kill(daemon.pid(), SIGHUP);
  ASSERT_TRUE(kubelet.wait_for([&] { return offers(kDriver, "gpu-4"); })) << daemon.log();
  const auto status = admin.status();
  EXPECT_EQ(status.config().state().state(), "needs restart");
  EXPECT_THAT(status.config().restart(), ElementsAre("node.name"));
  EXPECT_THAT(status.warnings(0), HasSubstr("node.name, which needs a restart of the daemon"));
  EXPECT_EQ(status.node(), "node1");
  EXPECT_TRUE(logged("\"level\":\"info\",\"message\":")) << "json from now on";
}

TEST_F(LiveConfigTest, TheLastOfAHundredReloadsCountsAndOtherModulesAreNotDisturbed) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_all();
  const auto before = prepare(claim);
  const Traffic others_before = traffic();
  EXPECT_EQ(admin.status().config().reloads(), 0u);  // also opens the client's connection
  const std::size_t open_before = open_descriptors();
  for (int i = 0; i < 100; ++i) {
    configure_as(gpu("devices = [\"gpu:" + std::to_string(2 + i % 4) + "\"]") + others());
    ::kill(daemon.pid(), SIGHUP);
  }
  configure_as(gpu("devices = [\"gpu:7\"]") + others());
  ASSERT_TRUE(kubelet.wait_for([&] { return offers(kDriver, "gpu-6"); }, 20s)) << daemon.log();
  EXPECT_TRUE(kubelet.wait_for([&] { return admin.state_of("gpu") == "ready"; }));
  expect_no_traffic_since(others_before);
  // Tolerates the kubelet's changing connections. Each reload opened a file, an instance and its pipes.
  EXPECT_TRUE(kubelet.wait_for([&] { return open_descriptors() < open_before + 5; }))
      << open_descriptors() << " descriptors, " << open_before << " before";
  EXPECT_EQ(prepare(claim), before);
  EXPECT_TRUE(unprepare(claim));
}

TEST_F(LiveConfigTest, ASighupBeforeTheDaemonIsReadyDoesNotEndIt) {
  start_all();
  DaemonProcess next{built_program(CARDCAGE_DAEMON), built_module("mock")};
  next.configure(read_file(daemon.folder() / "cardcage.toml", 1 << 20).value());
  next.start();
  ASSERT_TRUE(manager.wait_for([&] { return next.logged("waiting for another cardcage"); }));
  for (int i = 0; i < 10; ++i) ::kill(next.pid(), SIGHUP);
  const auto before = manager.registrations(kFpga);
  EXPECT_EQ(daemon.stop(), 0);
  EXPECT_TRUE(manager.wait_for([&] { return manager.registrations(kFpga) > before; })) << next.log();
  EXPECT_EQ(next.stop(), 0);
}

}  // namespace
}  // namespace cardcage
