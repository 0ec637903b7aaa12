// kill -9 of the daemon and of its workers at every step of a driver switch: the files on disk and in sysfs suffice to
// continue, or to go back.
#include "tests/fakes/fake_sysfs.h"
#include "tests/kill/kill_fixture.h"

namespace cardcage {
namespace {

constexpr const char* kAddress = "0000:3b:00.0";

class DriverSwitchTest : public KillTest, public ::testing::WithParamInterface<Death> {
 protected:
  void SetUp() override {
    if (!sysfs.mounted()) GTEST_SKIP() << "no file system can be mounted here";
    for (const char* driver : {"mlx5_core", "vfio-pci"}) sysfs.add_driver(driver);
    sysfs.add_function(kAddress, "mlx5_core");
    daemon.set_sysfs(sysfs.path());
    configure(fmt::format("devices = [\"gpu:4\", \"nic:4\"]\nwrite = [\"driver {0} vfio-pci\"]\n"
                          "write_back = [\"driver {0}\"]\n",
                          kAddress),
              kDriver, "process", "",
              fmt::format("writes = [\"{}\"]\n", (sysfs.function("*") / "driver_override").native()));
  }
  void expect_own_driver() {
    EXPECT_EQ(sysfs.look(kAddress).driver, "mlx5_core");
    EXPECT_EQ(sysfs.look(kAddress).driver_override, "");
    EXPECT_THAT(files(daemon.folder() / "run/drivers"), ::testing::IsEmpty());
    expect_nothing_left();
  }
  FakeSysfs sysfs;
  const ClaimRef claim = add_claim("one", {"nic-2"});
};

std::vector<Death> of_both(const std::vector<FaultPoint>& points) {
  std::vector<Death> deaths;
  for (const FaultPoint point : points)
    for (const char* victim : {"host", "workers"}) deaths.push_back({point, victim});
  return deaths;
}

class DeathInBind : public DriverSwitchTest {};
INSTANTIATE_TEST_SUITE_P(FaultPoints, DeathInBind,
                         ::testing::ValuesIn(of_both({FaultPoint::kAfterDriverRecord, FaultPoint::kAfterDriverOverride,
                                                      FaultPoint::kAfterDriverUnbind, FaultPoint::kAfterDriverProbe})),
                         kNameOfDeath);

TEST_P(DeathInBind, TheNextPrepareBindsAndUnprepareRestores) {
  start_with(GetParam());
  (void)kubelet.prepare(kDriver, {claim}, std::chrono::seconds(5));
  survive(GetParam());
  ASSERT_TRUE(prepare_with_retries(claim)) << daemon.log();
  EXPECT_EQ(sysfs.look(kAddress).driver, "vfio-pci");
  ASSERT_TRUE(unprepare_with_retries(claim)) << daemon.log();
  expect_own_driver();
}

TEST_P(DeathInBind, IsUndoneIfThePodIsDeleted) {
  start_with(GetParam());
  (void)kubelet.prepare(kDriver, {claim}, std::chrono::seconds(5));
  survive(GetParam());
  ASSERT_TRUE(unprepare_with_retries(claim)) << daemon.log();
  expect_own_driver();
}

class DeathInRestore : public DriverSwitchTest {};
INSTANTIATE_TEST_SUITE_P(FaultPoints, DeathInRestore,
                         ::testing::ValuesIn(of_both({FaultPoint::kAfterDriverOverride, FaultPoint::kAfterDriverUnbind,
                                                      FaultPoint::kAfterDriverProbe, FaultPoint::kAfterDriverClear})),
                         kNameOfDeath);

TEST_P(DeathInRestore, IsRepeated) {
  start_and_register();
  ASSERT_TRUE(prepare_with_retries(claim)) << daemon.log();
  daemon.stop();
  start_with(GetParam());
  (void)kubelet.unprepare(kDriver, {claim}, std::chrono::seconds(5));
  survive(GetParam());
  ASSERT_TRUE(unprepare_with_retries(claim)) << daemon.log();
  expect_own_driver();
}

}  // namespace
}  // namespace cardcage
