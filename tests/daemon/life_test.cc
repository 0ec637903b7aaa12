// The life of the daemon and of a claim, with the whole host.
#include <sys/wait.h>

#include "tests/daemon/daemon_fixture.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/idle_process.h"
#include "tests/fakes/proc.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Removes a folder of the running daemon, which may put a file back before the folder itself is gone.
bool wipe(const std::filesystem::path& folder) {
  std::error_code refilled;
  for (int tries = 0; tries < 100; ++tries) {
    std::filesystem::remove_all(folder, refilled);
    if (!refilled) return true;
  }
  return false;
}

TEST_F(DaemonTest, ServesAClaimFromPrepareToUnprepare) {
  const ClaimRef claim = add_claim("one", {"gpu-1"});
  start_and_register();
  const auto devices = prepare(claim);
  ASSERT_THAT(devices, SizeIs(1));
  EXPECT_EQ(devices[0].device, "gpu-1");
  EXPECT_EQ(devices[0].pool, "node1");
  EXPECT_THAT(devices[0].request_names, ElementsAre("gpu"));
  ASSERT_FALSE(devices[0].cdi_device_ids.empty());
  EXPECT_THAT(devices[0].cdi_device_ids[0], HasSubstr(claim.uid + "-gpu-1"));
  ASSERT_THAT(files(daemon.folder() / "cdi"), SizeIs(1));
  EXPECT_THAT(files(hardware()), SizeIs(1));

  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(daemon.folder() / "cdi"), IsEmpty());
  EXPECT_THAT(files(hardware()), IsEmpty());
}

TEST_F(DaemonTest, ExitsCleanlyAndRemovesItsSockets) {
  start_and_register();
  const int status = daemon.stop();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_FALSE(
      std::filesystem::exists(daemon.folder() / "kubelet/plugins_registry" / (std::string(kDriver) + "-reg.sock")));
  EXPECT_FALSE(std::filesystem::exists(daemon.folder() / "admin.sock"));
}

TEST_F(DaemonTest, AClaimSurvivesKillAndItsCdiFileIsRestored) {
  const ClaimRef claim = add_claim("one", {"gpu-0", "gpu-3"});
  start_and_register();
  const auto before = prepare(claim);
  ASSERT_THAT(before, SizeIs(2));
  daemon.crash();
  std::filesystem::remove_all(daemon.folder() / "cdi");
  // The repeated call needs neither the claim object nor another prepare of the module.
  std::filesystem::remove(daemon.folder() / "node/claims/default_one.json");

  start_and_register();
  EXPECT_THAT(files(daemon.folder() / "cdi"), SizeIs(1)) << "written again before the kubelet asks";
  EXPECT_EQ(prepare(claim), before);
  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(daemon.folder() / "cdi"), IsEmpty());
  EXPECT_THAT(files(hardware()), IsEmpty());
}

TEST_F(DaemonTest, RemovedCdiFilesAreRestored) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  const ClaimRef other = add_claim("two", {"gpu-1"});
  start_and_register();
  prepare(claim);
  prepare(other);
  const auto folder = daemon.folder() / "cdi";
  const auto before = files(folder);
  ASSERT_THAT(before, SizeIs(2));
  std::filesystem::remove(folder / before.front());
  EXPECT_TRUE(kubelet.wait_for([&] { return files(folder) == before; })) << "one file";
  ASSERT_TRUE(wipe(folder));
  EXPECT_TRUE(kubelet.wait_for([&] { return std::filesystem::exists(folder) && files(folder) == before; }))
      << "the whole folder";
  ASSERT_TRUE(unprepare(other));
  ASSERT_TRUE(wipe(folder));
  EXPECT_TRUE(kubelet.wait_for([&] { return std::filesystem::exists(folder) && files(folder).size() == 1; }))
      << "the new folder is watched as well";
  ASSERT_TRUE(unprepare(claim));
  EXPECT_THAT(files(folder), IsEmpty());
}

TEST_F(DaemonTest, ARemovedRunFolderIsMadeAgain) {
  start_and_register();
  const auto run = daemon.folder() / "run";
  ASSERT_THAT(files(run), ElementsAre("intents"));
  ASSERT_TRUE(wipe(run));
  std::filesystem::remove(daemon.folder() / "admin.sock");
  EXPECT_TRUE(kubelet.wait_for([&] { return std::filesystem::exists(run / "intents"); }));
  EXPECT_TRUE(shows("status", "node1"));
  ASSERT_TRUE(wipe(run));
  EXPECT_TRUE(kubelet.wait_for([&] { return std::filesystem::exists(run / "intents"); }))
      << "the new folder is watched as well";
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  EXPECT_THAT(prepare(claim), SizeIs(1));
}

TEST_F(DaemonTest, IsReadyOnceTheKubeletCanUseWhatItServes) {
  kubelet.refuse("not on this node");
  daemon.start();
  EXPECT_TRUE(shows("ready", "driver 'gpu.mock.cardcage.dev' is not registered with the kubelet: refused"));
  EXPECT_EQ(cagectl("ready").code, 1);
  kubelet.refuse("");
  kubelet.restart();
  ASSERT_TRUE(kubelet.wait_registered(kDriver)) << daemon.log();
  EXPECT_TRUE(shows("ready", "ready: 1 driver and 0 resources respond"));
  EXPECT_EQ(cagectl("ready").code, 0);
  daemon.stop();
  EXPECT_EQ(cagectl("ready").code, 3);
}

TEST_F(DaemonTest, AClaimThatNobodyUnpreparesIsForgottenOnDemand) {
  const ClaimRef claim = add_claim("one", {"gpu-1"});
  start_and_register();
  prepare(claim);
  const Output shown = cagectl("claims forget " + claim.uid);
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.text, HasSubstr("default/one"));
  EXPECT_THAT(files(hardware()), SizeIs(1)) << "without --force nothing changes";
  const Output forgotten = cagectl("claims forget --force " + claim.uid);
  EXPECT_EQ(forgotten.code, 0) << forgotten.text;
  EXPECT_THAT(forgotten.text, HasSubstr("\nforgotten\n"));
  EXPECT_THAT(files(hardware()), IsEmpty());
  EXPECT_THAT(files(daemon.folder() / "cdi"), IsEmpty());
  EXPECT_THAT(cagectl("history").text, HasSubstr("default/one"));
  const Output again = cagectl("claims forget --force " + claim.uid);
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.text, HasSubstr("no claim with UID '" + claim.uid + "' is prepared"));
}

TEST_F(DaemonTest, UnprepareWorksAfterKillWithoutAnotherPrepare) {
  const ClaimRef claim = add_claim("one", {"gpu-2"});
  start_and_register();
  prepare(claim);
  daemon.crash();
  start_and_register();
  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(hardware()), IsEmpty());
  EXPECT_TRUE(unprepare(claim)) << "again";
}

TEST_F(DaemonTest, RefusesADeviceThatAnotherClaimHolds) {
  const ClaimRef first = add_claim("first", {"gpu-0"}), second = add_claim("second", {"gpu-0"});
  start_and_register();
  prepare(first);
  const auto response = kubelet.prepare(kDriver, {second});
  ASSERT_TRUE(response);
  ASSERT_FALSE(response->at(second.uid));
  EXPECT_THAT(response->at(second.uid).error().message, HasSubstr("default/first"));
  EXPECT_TRUE(unprepare(first));
  EXPECT_THAT(prepare(second), SizeIs(1));
}

TEST_F(DaemonTest, AModulesErrorReachesTheKubelet) {
  configure("devices = [\"gpu:4\"]\nfail_prepare = [\"gpu-1 the fan is stuck\"]");
  const ClaimRef bad = add_claim("bad", {"gpu-1"}), good = add_claim("good", {"gpu-0"});
  start_and_register();
  const auto response = kubelet.prepare(kDriver, {bad, good});
  ASSERT_TRUE(response);
  ASSERT_FALSE(response->at(bad.uid));
  EXPECT_THAT(response->at(bad.uid).error().message, HasSubstr("the fan is stuck"));
  EXPECT_TRUE(response->at(good.uid)) << "the failure of one claim does not affect another";
}

TEST_F(DaemonTest, ADriverKeepsRespondingWhileItsModuleHangs) {
  configure("devices = [\"gpu:2\"]\nhang = \"prepare\"");
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  const auto response = kubelet.prepare(kDriver, {claim}, std::chrono::milliseconds(300));
  EXPECT_TRUE(!response || !response->at(claim.uid));
  const auto empty = kubelet.prepare(kDriver, {});
  EXPECT_TRUE(empty) << "the driver itself still responds";
  EXPECT_TRUE(daemon.running());
}

TEST_F(DaemonTest, HealthReachesTheKubelet) {
  configure("devices = [\"gpu:2\"]\nscript_file = \"" + script().native() + "\"");
  start_and_register();
  play("health gpu-1 bad XidError fell off the bus");
  EXPECT_TRUE(kubelet.wait_for(
      [&] {
        return kubelet.health(kDriver, "node1", "gpu-1").state == HealthState::kUnhealthy &&
               kubelet.health(kDriver, "node1", "gpu-0").state == HealthState::kHealthy;
      },
      std::chrono::seconds(30)));
  EXPECT_THAT(kubelet.health(kDriver, "node1", "gpu-1").message, HasSubstr("fell off the bus"));
  play("health gpu-1 bad XidError fell off the bus twice");
  EXPECT_TRUE(kubelet.wait_for(
      [&] { return kubelet.health(kDriver, "node1", "gpu-1").message.find("twice") != std::string::npos; },
      std::chrono::seconds(30)))
      << "another text in the same state";
}

TEST_F(DaemonTest, AGoodCauseOfHealthMasksNoBadOne) {
  configure(R"(devices = ["gpu:2"]
    script = ["0s health gpu-1 bad cause=Ecc taint=example.com/ecc=bank-3:NoExecute RowRemapFailure bank 3",
              "0s health gpu-1 ok cause=Thermal", "0s health gpu-0 unmonitored cause=Link taint=inform NoEvents"])");
  start_and_register();
  EXPECT_TRUE(kubelet.wait_for([&] {
    return kubelet.health(kDriver, "node1", "gpu-1").state == HealthState::kUnhealthy &&
           kubelet.health(kDriver, "node1", "gpu-0").message == "not monitored";
  }));
  EXPECT_EQ(kubelet.health(kDriver, "node1", "gpu-1").message, "RowRemapFailure: bank 3");
  EXPECT_EQ(kubelet.health(kDriver, "node1", "gpu-0").state, HealthState::kUnknown);
  const auto slice = [&] {
    std::string text;
    for (const auto& name : files(daemon.folder() / "node/slices"))
      text += read_file(daemon.folder() / "node/slices" / name, 1 << 20).value_or("");
    return text;
  };
  EXPECT_TRUE(kubelet.wait_for([&] { return slice().contains("example.com/ecc") && slice().contains("NoEvents"); }));
}

TEST_F(DaemonTest, PublishesSlicesAndRestoresDeletedOnes) {
  start_and_register();
  const auto slices = daemon.folder() / "node/slices";
  ASSERT_TRUE(kubelet.wait_for([&] { return files(slices).size() == 1; }));
  for (const auto& name : files(slices)) std::filesystem::remove(slices / name);
  EXPECT_TRUE(kubelet.wait_for([&] { return files(slices).size() == 1; }, std::chrono::seconds(2)));
}

TEST_F(DaemonTest, RegistersAgainAfterAKubeletRestart) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  const auto before = prepare(claim);
  kubelet.restart();
  ASSERT_TRUE(kubelet.wait_registered(kDriver));
  EXPECT_EQ(prepare(claim), before);
}

TEST_F(DaemonTest, ABrokenConfigurationEndsTheDaemonWithEveryErrorAndItsPlace) {
  daemon.configure("[node]\nname = 7\nkubelet_rot = \"/x\"\n");
  daemon.start();
  ASSERT_TRUE(daemon.wait_for_exit(std::chrono::seconds(5)));
  EXPECT_THAT(daemon.log(), HasSubstr("cardcage.toml:2:"));
  EXPECT_THAT(daemon.log(), HasSubstr("kubelet_root"));
}

TEST_F(DaemonTest, ARefusedModuleIsLoggedAndTheDaemonKeepsRunning) {
  std::filesystem::permissions(daemon.installed_module(), std::filesystem::perms(0666));
  daemon.start();
  EXPECT_TRUE(logged("chmod")) << daemon.log();
  EXPECT_TRUE(daemon.running());
}

TEST_F(DaemonTest, ADamagedLedgerIsSetAsideAndItsClaimRebuilt) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  prepare(claim);
  daemon.crash();
  for (const auto& entry : std::filesystem::directory_iterator(daemon.folder() / "state"))
    if (entry.is_regular_file()) std::filesystem::resize_file(entry.path(), 100);
  start_and_register();
  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(hardware()), IsEmpty());
  EXPECT_THAT(files(daemon.folder() / "cdi"), IsEmpty());
}

TEST_F(DaemonTest, UnprepareWaitsForAModuleThatStillStarts) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  prepare(claim);
  daemon.crash();
  configure("devices = [\"gpu:4\"]\ndiscover_delay = \"300ms\"");
  start_and_register();
  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(hardware()), IsEmpty());
}

TEST_F(DaemonTest, ADriverThatIsNoLongerConfiguredStillUnpreparesItsClaims) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  prepare(claim);
  daemon.crash();
  configure("devices = [\"gpu:4\"]\ndiscover_delay = \"300ms\"", "another.mock.cardcage.dev");
  start_and_register();
  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(hardware()), IsEmpty());
}

// A child may hold the hardware while the next instance takes it.
TEST_F(DaemonTest, WhatAModuleForkedEndsBeforeTheModuleStartsAgain) {
  if (writable_control_groups().empty()) GTEST_SKIP() << "no control group is writable";
  std::filesystem::copy(test_modules() / "helper.so", daemon.folder() / "modules");
  daemon.configure(daemon.node_section((daemon.folder() / "node").native()) +
                   "[[module]]\nname = \"helped\"\npath = \"helper.so\"\n"
                   "[[module.serve]]\napi = \"dra\"\ndriver = \"" +
                   kDriver + "\"\n");
  const auto helpers = [this] {
    const auto workers = daemon.workers();
    return workers.empty() ? std::vector<pid_t>() : proc::children(workers[0]);
  };
  start_and_register();
  ASSERT_TRUE(eventually([&] { return helpers().size() == 1; })) << daemon.log();
  const pid_t first = helpers()[0];
  daemon.crash();
  start_and_register();
  ASSERT_TRUE(eventually([&] { return helpers().size() == 1; })) << daemon.log();
  EXPECT_FALSE(proc::is_alive(first));
  EXPECT_TRUE(daemon.logged("processes that an earlier daemon left behind are killed")) << daemon.log();

  const pid_t second = helpers()[0];
  ASSERT_EQ(::kill(daemon.workers()[0], SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return !proc::is_alive(second); }));
}

}  // namespace
}  // namespace cardcage
