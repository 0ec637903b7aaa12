// cage.write in both isolations: files, ioctls of a terminal and of a fake device, and writes that never end.
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/core/file.h"
#include "tests/fakes/fake_sysfs.h"
#include "tests/fakes/proc.h"
#include "tests/unit/module/write_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WriteScenarios : public WriteFixture {};

INSTANTIATE_TEST_SUITE_P(Isolation, WriteScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(WriteScenarios, WritesToAFile) {
  std::ofstream(folder / "reset").flush();
  ASSERT_TRUE(start_with({"file " + here("reset") + " 1"}, {here("res?t")}));
  const auto prepared = prepare();
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(read_file(folder / "reset", 100).value(), "1");
}

TEST_P(WriteScenarios, TheArgumentOfAnIoctlComesBack) {
  int controller = -1, terminal = -1;
  std::array<char, 64> name{};
  ASSERT_EQ(::openpty(&controller, &terminal, name.data(), nullptr, nullptr), 0);
  const UniqueFd one(controller), other(terminal);
  // 24 rows and 80 columns, in a struct winsize.
  ASSERT_TRUE(start_with({fmt::format("ioctl {} {:x} 1800500000000000", name.data(), TIOCSWINSZ),
                          fmt::format("ioctl {} {:x} ffffffffffffffff", name.data(), TIOCGWINSZ)},
                         {"/dev/pts/*"}));
  const auto prepared = prepare();
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(prepared->claim.env, Contains(EnvVar{"MOCK_WRITE", "18005000000000001800500000000000"}));
  winsize size{};
  ASSERT_EQ(::ioctl(controller, TIOCGWINSZ, &size), 0);
  EXPECT_EQ(size.ws_row, 24);
}

TEST_P(WriteScenarios, AFileThatIsNotAllowedIsNotTouched) {
  std::ofstream(folder / "reset").flush();
  ASSERT_TRUE(start_with({"file " + here("reset") + " 1"}, {here("unbind"), here("sub/*")}));
  EXPECT_THAT(failure(),
              AllOf(HasSubstr("cage_write.file for device 'gpu-0': the module may not access '" + here("reset")),
                    HasSubstr("add it, or a pattern, to the key writes of its [[module]]")));
  EXPECT_EQ(read_file(folder / "reset", 100).value(), "");
}

TEST_P(WriteScenarios, APathWithDotsIsRefused) {
  ASSERT_TRUE(start_with({"file " + here("sub/../reset") + " 1"}, {here("*"), here("*/*"), here("*/*/*")}));
  EXPECT_THAT(failure(), HasSubstr("is not an absolute path without '.', '..' and '//'"));
}

TEST_P(WriteScenarios, NoLinkLeadsElsewhere) {
  fs::create_symlink("/dev/null", folder / "away");
  fs::create_symlink("reset", folder / "near");
  std::ofstream(folder / "reset").flush();
  ASSERT_TRUE(start_with({"file " + here("near") + " 1", "file " + here("away") + " 1"}, {all_here()}));
  EXPECT_THAT(failure(), HasSubstr("cannot follow a link out of the first folder of '" + here("away")));
  EXPECT_EQ(read_file(folder / "reset", 100).value(), "1") << "as a link within sysfs";
}

TEST_P(WriteScenarios, ALinkInAFolderOfAnotherUserIsNotFollowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  fs::create_directory(folder / "theirs");
  fs::create_symlink("../reset", folder / "theirs/near");
  std::ofstream(folder / "reset").flush();
  ASSERT_TRUE(start_with({"file " + here("theirs/near") + " 1"}, {here("*/*")}));
  EXPECT_TRUE(prepare());
  ASSERT_EQ(::chown(here("theirs").c_str(), 65534, 65534), 0);
  EXPECT_THAT(failure(), AllOf(HasSubstr("cannot open '" + here("theirs/near")),
                               HasSubstr("folder '" + here("theirs") + "' belongs to uid 65534")));
}

TEST_P(WriteScenarios, AnErrorOfTheKernelIsNamed) {
  ASSERT_TRUE(start_with({"file " + here("absent") + " 1"}, {all_here()}));
  EXPECT_THAT(failure(), HasSubstr("cannot open '" + here("absent") + "': No such file or directory"));
}

TEST_P(WriteScenarios, AnIoctlOfNoDeviceIsNamed) {
  std::ofstream(folder / "file").flush();
  ASSERT_TRUE(start_with({"ioctl " + here("file") + " 5413 00"}, {all_here()}));
  EXPECT_THAT(failure(), HasSubstr("cannot make the ioctl of '" + here("file") + "': Inappropriate ioctl for device"));
}

TEST_P(WriteScenarios, AnIoctlWithAnArgumentThatIsTooSmallIsRefused) {
  ASSERT_TRUE(start_with({"ioctl " + here("file") + " c0104301 0011"}, {all_here()}));
  EXPECT_THAT(failure(), HasSubstr("request 0xc0104301 has an argument of 16 bytes, and 2 are given"));
}

TEST_P(WriteScenarios, DataThatDoesNotExistIsNamed) {
  std::ofstream(folder / "file").flush();
  ASSERT_TRUE(start_with({"ioctl " + here("file") + " 5413 0000000000000000 " + here("absent") + " 0"}, {all_here()}));
  EXPECT_THAT(failure(), HasSubstr("cannot open '" + here("absent") + "'"));
}

TEST_P(WriteScenarios, AWriteThatWaitsIsStoppedAtItsLimit) {
  ASSERT_EQ(::mkfifo(here("pipe").c_str(), 0600), 0);
  ASSERT_TRUE(start_with({"file " + here("pipe") + " 1"}, {all_here()}, {{"write_limit", "5s"}}));
  const auto prepared = begin(module->call(PrepareCall{claim("u1", {"gpu-0"})}, soon()));
  ASSERT_TRUE(eventually([] { return accesses() == 1; }));
  EXPECT_FALSE(prepared->has_value());
  advance(seconds(5));
  ASSERT_TRUE(eventually([&] { return prepared->has_value(); }));
  EXPECT_THAT((**prepared).error().message,
              HasSubstr("a write to '" + here("pipe") + "' did not end in time and was stopped"));
  EXPECT_FALSE(writes->stuck->find({"m", "gpu-0"})) << "the access has ended";
}

class SysfsScenarios : public WriteScenarios {
 protected:
  void SetUp() override {
    if (!sysfs.mounted()) GTEST_SKIP() << "no file system can be mounted here";
    writes->sysfs = sysfs.path();
    writes->records = std::make_unique<DriverRecords>(records(), "boot-1");
    for (const char* driver : {"mlx5_core", "vfio-pci"}) sysfs.add_driver(driver);
    sysfs.add_function(kAddress, "mlx5_core");
  }
  // Runs before the fake ends, so that no blocked process outlives the test.
  void TearDown() override {
    sysfs.release();
    let_go();
    EXPECT_TRUE(eventually([] { return accesses() == 0; }));
  }
  fs::path records() const { return folder / "drivers"; }
  std::string reset() const { return "file " + (sysfs.function(kAddress) / "reset").native() + " 1"; }
  std::string switch_to(const std::string& driver) const { return fmt::format("driver {} {}", kAddress, driver); }
  std::vector<std::string> all_functions() const {
    return {(sysfs.function("*") / "reset").native(), (sysfs.function("*") / "driver_override").native()};
  }
  Status unprepare() { return run(module->call(UnprepareCall{claim("u-gpu-0", {"gpu-0"})}, soon())); }
  // Prepares gpu-0 with a write that the kernel does not finish.
  void get_stuck() {
    sysfs.hold("reset");
    ASSERT_TRUE(start_with({reset()}, all_functions(), {{"write_limit", "5s"}}));
    const auto prepared = begin(module->call(PrepareCall{claim("u1", {"gpu-0"})}, soon()));
    ASSERT_TRUE(eventually([&] { return sysfs.holds(); }));
    advance(seconds(5));
    advance(seconds(2));
    ASSERT_TRUE(eventually([&] { return prepared->has_value(); }));
    EXPECT_THAT((**prepared).error().message, HasSubstr(kStuck));
  }
  static constexpr const char* kAddress = "0000:3b:00.0";
  static constexpr const char* kStuck = "device 'gpu-0' is stuck in a write to '";
  FakeSysfs sysfs;
};

INSTANTIATE_TEST_SUITE_P(Isolation, SysfsScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(SysfsScenarios, AnIoctlGetsTheAddressOfAMappedFile) {
  std::ofstream(folder / "bitstream") << "0123456789abcdef";
  ASSERT_TRUE(start_with(
      {"ioctl " + sysfs.card().native() + " c0104301 0700000000000000aaaaaaaaaaaaaaaa " + here("bitstream") + " 8"},
      {sysfs.card().native(), all_here()}));
  const auto prepared = prepare();
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(sysfs.seen(), "0123456789abcdef");
  EXPECT_THAT(prepared->claim.env, Contains(EnvVar{"MOCK_WRITE", "0800000000000000aaaaaaaaaaaaaaaa"}));
}

TEST_P(SysfsScenarios, AWriteThatNeverEndsMakesItsDeviceStuckAndNothingElse) {
  get_stuck();
  if (HasFatalFailure()) return;
  EXPECT_FALSE(lost) << lost->message;
  EXPECT_THAT(failure(), AllOf(HasSubstr("module 'm' cannot prepare: "), HasSubstr(kStuck),
                               HasSubstr("/reset' since 20"), HasSubstr("a restart of the node")));
  const auto other = prepare("gpu-1");
  EXPECT_TRUE(other) << other.error().message;
}

TEST_P(SysfsScenarios, AStuckDeviceIsFreeWhenTheKernelEndsItsWrite) {
  std::vector<std::string> news;
  writes->stuck->listen([&](const std::string& whose) { news.push_back(whose); });
  get_stuck();
  if (HasFatalFailure()) return;
  const auto health = writes->stuck->health({"m", "gpu-0"});
  ASSERT_TRUE(health);
  EXPECT_EQ(health->health.state, HealthState::kUnhealthy);
  EXPECT_EQ(health->health.cause, "Stuck");
  EXPECT_TRUE(keeps_claims_away(health->health));
  EXPECT_THAT(health->health.message, HasSubstr(kStuck));
  EXPECT_FALSE(writes->stuck->health({"m", "gpu-1"}));
  EXPECT_THAT(news, ::testing::ElementsAre("m"));
  sysfs.release();
  ASSERT_TRUE(eventually([&] { return !writes->stuck->find({"m", "gpu-0"}); }));
  EXPECT_THAT(news, ::testing::ElementsAre("m", "m")) << "it is told about both at once";
  writes->stuck->listen({});
  const auto prepared = prepare();
  EXPECT_TRUE(prepared) << prepared.error().message;
}

TEST_P(SysfsScenarios, AStuckDeviceStaysSoWhenItsModuleStartsAgain) {
  get_stuck();
  if (HasFatalFailure()) return;
  EXPECT_TRUE(run(module->stop(soon())));
  const Leftover left = module->leftover();
  EXPECT_FALSE(left && left()) << "only the device is stuck";
  ASSERT_TRUE(start_with({}, {}));
  EXPECT_THAT(failure(), HasSubstr(kStuck));
  EXPECT_TRUE(prepare("gpu-1"));
}

TEST_P(SysfsScenarios, ADriverIsBoundAndTheOwnOneComesBack) {
  ASSERT_TRUE(
      start_with({switch_to("vfio-pci")}, all_functions(), {{"write_back", std::vector<std::string>{switch_to("")}}}));
  const auto prepared = prepare();
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(sysfs.look(kAddress).driver, "vfio-pci");
  EXPECT_EQ(sysfs.look(kAddress).driver_override, "vfio-pci");
  EXPECT_TRUE(fs::exists(records() / kAddress));
  EXPECT_TRUE(prepare()) << "a second prepare changes nothing";
  const Status undone = unprepare();
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_EQ(sysfs.look(kAddress).driver, "mlx5_core");
  EXPECT_EQ(sysfs.look(kAddress).driver_override, "");
  EXPECT_FALSE(fs::exists(records() / kAddress));
  EXPECT_TRUE(unprepare()) << "there is nothing to restore";
  const std::string function = std::string("devices/pci0000:00/") + kAddress;
  EXPECT_THAT(sysfs.written(),
              ElementsAre(function + "/driver_override: vfio-pci", "bus/pci/drivers/mlx5_core/unbind: 0000:3b:00.0",
                          "bus/pci/drivers_probe: 0000:3b:00.0", function + "/driver_override: mlx5_core",
                          "bus/pci/drivers/vfio-pci/unbind: 0000:3b:00.0", "bus/pci/drivers_probe: 0000:3b:00.0",
                          function + "/driver_override: "));
}

TEST_P(SysfsScenarios, AFunctionIsResetWithoutADriverAndGetsItsOwnBack) {
  ASSERT_TRUE(start_with({switch_to("none"), reset()}, all_functions(),
                         {{"write_back", std::vector<std::string>{switch_to("")}}}));
  const auto prepared = prepare();
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(sysfs.look(kAddress).driver, "");
  EXPECT_TRUE(unprepare());
  EXPECT_EQ(sysfs.look(kAddress).driver, "mlx5_core");
  const std::string function = std::string("devices/pci0000:00/") + kAddress;
  EXPECT_THAT(sysfs.written(),
              ElementsAre(function + "/driver_override: none", "bus/pci/drivers/mlx5_core/unbind: 0000:3b:00.0",
                          function + "/reset: 1", function + "/driver_override: mlx5_core",
                          "bus/pci/drivers_probe: 0000:3b:00.0", function + "/driver_override: "));
}

TEST_P(SysfsScenarios, AFunctionThatHadNoDriverGetsNone) {
  sysfs.add_function("0000:3b:00.1", "absent");
  ASSERT_TRUE(start_with({"driver 0000:3b:00.1 vfio-pci"}, all_functions(),
                         {{"write_back", std::vector<std::string>{"driver 0000:3b:00.1"}}}));
  ASSERT_TRUE(prepare());
  EXPECT_EQ(sysfs.look("0000:3b:00.1").driver, "vfio-pci");
  ASSERT_TRUE(unprepare());
  EXPECT_EQ(sysfs.look("0000:3b:00.1").driver, "");
}

TEST_P(SysfsScenarios, ADriverThatWasUnloadedSinceGetsItsFunctionLater) {
  ASSERT_TRUE(
      start_with({switch_to("vfio-pci")}, all_functions(), {{"write_back", std::vector<std::string>{switch_to("")}}}));
  ASSERT_TRUE(prepare());
  sysfs.remove_driver("mlx5_core");
  const Status undone = unprepare();
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_EQ(sysfs.look(kAddress).driver, "");
  EXPECT_EQ(sysfs.look(kAddress).driver_override, "") << "otherwise the driver would not get it";
  EXPECT_FALSE(fs::exists(records() / kAddress));
}

TEST_P(SysfsScenarios, AnOverrideOfTheOperatorComesBack) {
  std::ofstream(sysfs.function(kAddress) / "driver_override") << "mlx5_core" << std::flush;
  ASSERT_TRUE(
      start_with({switch_to("vfio-pci")}, all_functions(), {{"write_back", std::vector<std::string>{switch_to("")}}}));
  ASSERT_TRUE(prepare());
  ASSERT_TRUE(unprepare());
  EXPECT_EQ(sysfs.look(kAddress).driver_override, "mlx5_core");
}

TEST_P(SysfsScenarios, ADriverThatIsNotLoadedIsNamedAndTheOwnOneComesBack) {
  ASSERT_TRUE(
      start_with({switch_to("nfp")}, all_functions(), {{"write_back", std::vector<std::string>{switch_to("")}}}));
  EXPECT_THAT(failure(), HasSubstr("cage_write.driver for device 'gpu-0': 0000:3b:00.0 cannot be bound to 'nfp': the "
                                   "kernel left it without a driver: is the driver's module loaded"));
  EXPECT_TRUE(unprepare());
  EXPECT_EQ(sysfs.look(kAddress).driver, "mlx5_core");
}

TEST_P(SysfsScenarios, AFunctionThatIsAbsentOrNotAllowedIsNamed) {
  ASSERT_TRUE(start_with({"driver 0000:99:00.0 vfio-pci"}, all_functions()));
  EXPECT_THAT(failure(), HasSubstr("there is no PCI function 0000:99:00.0 on this node"));
  let_go();
  ASSERT_TRUE(start_with({switch_to("vfio-pci")}, {sysfs.function("0000:4b:*") / "driver_override"}));
  EXPECT_THAT(failure(), AllOf(HasSubstr("the module may not access '"), HasSubstr("0000:3b:00.0/driver_override")));
  EXPECT_EQ(sysfs.look(kAddress).driver, "mlx5_core");
}

TEST_P(SysfsScenarios, TheNextDaemonRemembersTheDriver) {
  ASSERT_TRUE(
      start_with({switch_to("vfio-pci")}, all_functions(), {{"write_back", std::vector<std::string>{switch_to("")}}}));
  ASSERT_TRUE(prepare());
  fs::remove_all(records());
  ASSERT_TRUE(writes->records->restore()) << "the folder was removed";
  writes->records = std::make_unique<DriverRecords>(records(), "boot-1");
  ASSERT_TRUE(unprepare());
  EXPECT_EQ(sysfs.look(kAddress).driver, "mlx5_core");
  ASSERT_TRUE(prepare());
  writes->records = std::make_unique<DriverRecords>(records(), "boot-2");
  EXPECT_FALSE(fs::exists(records() / kAddress)) << "the kernel has chosen a driver again";
  EXPECT_TRUE(unprepare());
  EXPECT_EQ(sysfs.look(kAddress).driver, "vfio-pci");
}

class SysfsInWorker : public SysfsScenarios {};
INSTANTIATE_TEST_SUITE_P(Isolation, SysfsInWorker, ::testing::Values(Isolation::kProcess), name_of_isolation);

TEST_P(SysfsInWorker, AWriteThatOutlivesItsWorkerMakesTheDeviceStuck) {
  sysfs.hold("reset");
  ASSERT_TRUE(start_with({reset()}, all_functions()));
  const auto prepared = begin(module->call(PrepareCall{claim("u1", {"gpu-0"})}, soon()));
  ASSERT_TRUE(eventually([&] { return sysfs.holds(); }));
  for (const pid_t worker : proc::workers(::getpid())) ::kill(worker, SIGKILL);
  EXPECT_TRUE(eventually([&] { return lost.has_value(); }));
  advance(seconds(2));
  EXPECT_TRUE(eventually([&] { return writes->stuck->find({"m", "gpu-0"}).has_value(); }));
}

}  // namespace
}  // namespace cardcage
