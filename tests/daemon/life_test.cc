// The life of the daemon and of a claim, with nothing of the host replaced.
#include <sys/wait.h>

#include "tests/daemon/daemon_fixture.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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

TEST_F(DaemonTest, EndsCleanlyAndTakesItsSocketsAway) {
  start_and_register();
  const int status = daemon.stop();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_FALSE(
      std::filesystem::exists(daemon.folder() / "kubelet/plugins_registry" / (std::string(kDriver) + "-reg.sock")));
  EXPECT_FALSE(std::filesystem::exists(daemon.folder() / "admin.sock"));
}

TEST_F(DaemonTest, AClaimSurvivesKillAndItsCdiFileComesBack) {
  const ClaimRef claim = add_claim("one", {"gpu-0", "gpu-3"});
  start_and_register();
  const auto before = prepare(claim);
  ASSERT_THAT(before, SizeIs(2));
  daemon.crash();
  std::filesystem::remove_all(daemon.folder() / "cdi");
  // The answer needs neither the claim object nor the module's work again.
  std::filesystem::remove(daemon.folder() / "node/claims/default_one.json");

  start_and_register();
  EXPECT_THAT(files(daemon.folder() / "cdi"), SizeIs(1)) << "written again before the kubelet asks";
  EXPECT_EQ(prepare(claim), before);
  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(daemon.folder() / "cdi"), IsEmpty());
  EXPECT_THAT(files(hardware()), IsEmpty());
}

TEST_F(DaemonTest, CdiFilesThatSomebodyRemovesComeBack) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  const ClaimRef other = add_claim("two", {"gpu-1"});
  start_and_register();
  prepare(claim);
  prepare(other);
  const auto folder = daemon.folder() / "cdi";
  const auto before = files(folder);
  ASSERT_THAT(before, SizeIs(2));
  std::filesystem::remove(folder / before.front());
  EXPECT_TRUE(kubelet.wait_for([&] { return files(folder) == before; })) << "a file";
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(kubelet.wait_for([&] { return std::filesystem::exists(folder) && files(folder) == before; })) << "all";
  ASSERT_TRUE(unprepare(other));
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(kubelet.wait_for([&] { return std::filesystem::exists(folder) && files(folder).size() == 1; }))
      << "the new folder is watched, too";
  ASSERT_TRUE(unprepare(claim));
  EXPECT_THAT(files(folder), IsEmpty());
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
  const auto answer = kubelet.prepare(kDriver, {second});
  ASSERT_TRUE(answer);
  ASSERT_FALSE(answer->at(second.uid));
  EXPECT_THAT(answer->at(second.uid).error().message, HasSubstr("default/first"));
  EXPECT_TRUE(unprepare(first));
  EXPECT_THAT(prepare(second), SizeIs(1));
}

TEST_F(DaemonTest, AModuleThatFailsTellsThePodWhy) {
  configure("devices = [\"gpu:4\"]\nfail_prepare = [\"gpu-1 the fan is stuck\"]");
  const ClaimRef bad = add_claim("bad", {"gpu-1"}), good = add_claim("good", {"gpu-0"});
  start_and_register();
  const auto answer = kubelet.prepare(kDriver, {bad, good});
  ASSERT_TRUE(answer);
  ASSERT_FALSE(answer->at(bad.uid));
  EXPECT_THAT(answer->at(bad.uid).error().message, HasSubstr("the fan is stuck"));
  EXPECT_TRUE(answer->at(good.uid)) << "one claim's failure is not another's";
}

TEST_F(DaemonTest, AHungModuleIsAnsweredForAndOthersGoOn) {
  configure("devices = [\"gpu:2\"]\nhang = \"prepare\"");
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  const auto answer = kubelet.prepare(kDriver, {claim}, std::chrono::milliseconds(300));
  EXPECT_TRUE(!answer || !answer->at(claim.uid));
  const auto empty = kubelet.prepare(kDriver, {});
  EXPECT_TRUE(empty) << "the driver itself still answers";
  EXPECT_TRUE(daemon.running());
}

TEST_F(DaemonTest, HealthReachesTheKubelet) {
  configure("devices = [\"gpu:2\"]\nscript = [\"0s health gpu-1 bad XidError fell off the bus\"]");
  start_and_register();
  EXPECT_TRUE(kubelet.wait_for([&] {
    return kubelet.health(kDriver, "node1", "gpu-1").state == HealthState::kUnhealthy &&
           kubelet.health(kDriver, "node1", "gpu-0").state == HealthState::kHealthy;
  }));
  EXPECT_THAT(kubelet.health(kDriver, "node1", "gpu-1").message, HasSubstr("fell off the bus"));
}

TEST_F(DaemonTest, PublishesSlicesAndPutsBackWhatSomebodyDeletes) {
  start_and_register();
  const auto slices = daemon.folder() / "node/slices";
  ASSERT_TRUE(kubelet.wait_for([&] { return files(slices).size() == 1; }));
  for (const auto& name : files(slices)) std::filesystem::remove(slices / name);
  EXPECT_TRUE(kubelet.wait_for([&] { return files(slices).size() == 1; }, std::chrono::seconds(2)));
}

TEST_F(DaemonTest, RegistersAgainWithAKubeletThatWasRestarted) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  const auto before = prepare(claim);
  kubelet.restart();
  ASSERT_TRUE(kubelet.wait_registered(kDriver));
  EXPECT_EQ(prepare(claim), before);
}

TEST_F(DaemonTest, ABrokenConfigurationEndsWithEveryErrorAndItsPlace) {
  daemon.configure("[node]\nname = 7\nkubelet_rot = \"/x\"\n");
  daemon.start();
  ASSERT_TRUE(kubelet.wait_for([&] { return !daemon.running(); }));
  EXPECT_THAT(daemon.log(), HasSubstr("cardcage.toml:2:"));
  EXPECT_THAT(daemon.log(), HasSubstr("kubelet_root"));
}

TEST_F(DaemonTest, AModuleThatIsRefusedIsSaidAndTheDaemonStays) {
  std::filesystem::permissions(daemon.folder() / "modules/libcardcage_mock.so", std::filesystem::perms(0666));
  daemon.start();
  EXPECT_TRUE(kubelet.wait_for([&] { return daemon.log().find("chmod") != std::string::npos; })) << daemon.log();
  EXPECT_TRUE(daemon.running());
}

TEST_F(DaemonTest, ADamagedLedgerIsSetAsideAndTheClaimIsStillKnown) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  prepare(claim);
  daemon.crash();
  for (const auto& entry : std::filesystem::directory_iterator(daemon.folder() / "state")) {
    std::filesystem::resize_file(entry.path(), 100);
  }
  start_and_register();
  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(hardware()), IsEmpty());
  EXPECT_THAT(files(daemon.folder() / "cdi"), IsEmpty());
}

TEST_F(DaemonTest, AKubeletThatIsFasterThanTheModuleWaitsForIt) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  prepare(claim);
  daemon.crash();
  configure("devices = [\"gpu:4\"]\ndiscover_delay = \"300ms\"");
  start_and_register();
  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(hardware()), IsEmpty());
}

TEST_F(DaemonTest, ADriverThatIsNotConfiguredAnyMoreStillLetsGoOfItsClaims) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  prepare(claim);
  daemon.crash();
  configure("devices = [\"gpu:4\"]\ndiscover_delay = \"300ms\"", "another.mock.cardcage.dev");
  start_and_register();
  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(hardware()), IsEmpty());
}

}  // namespace
}  // namespace cardcage
