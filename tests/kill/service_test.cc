// kill -9 of the daemon and of its workers while a service starts and while it runs: a claim has one process of the
// service, and none after its release.
#include <signal.h>

#include <fstream>
#include <iterator>

#include "host/core/file.h"
#include "tests/fakes/eventually.h"
#include "tests/kill/kill_fixture.h"

namespace cardcage {
namespace {

class ServiceFixture : public KillTest {
 protected:
  ServiceFixture() {
    std::ofstream(tool) << fmt::format("#!/bin/sh\necho $$ >> {}\nexec sleep 1000\n", pids_file().native())
                        << std::flush;
    std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
    allow(fmt::format("\"{}\"", tool.native()));
  }
  ~ServiceFixture() override {
    for (const pid_t pid : alive()) ::kill(pid, SIGKILL);
  }
  void allow(const std::string& programs) {
    configure("devices = [\"gpu:4\", \"nic:4\"]\nservice = [\"tool\"]\n", kDriver, "process", "",
              fmt::format("programs = [{}]\n", programs));
  }
  std::filesystem::path pids_file() const { return daemon.folder() / "pids"; }
  // The running processes among all processes of the service so far.
  std::vector<pid_t> alive() const {
    std::istringstream lines(read_file(pids_file(), 10'000).value_or(""));
    std::vector<pid_t> pids{std::istream_iterator<pid_t>(lines), {}};
    std::erase_if(pids, [](pid_t pid) {
      return !read_file(fmt::format("/proc/{}/cmdline", pid), 100).value_or("").contains("sleep");
    });
    return pids;
  }
  void expect_one() {
    EXPECT_TRUE(eventually([&] { return alive().size() == 1; })) << alive().size() << "\n" << daemon.log();
  }
  void expect_none() {
    EXPECT_TRUE(eventually([&] { return alive().empty(); })) << alive().size() << "\n" << daemon.log();
    EXPECT_THAT(files(daemon.folder() / "run/service-records"), ::testing::IsEmpty());
    EXPECT_THAT(files(daemon.folder() / "run/services"), ::testing::IsEmpty());
    expect_nothing_left();
  }
  const std::filesystem::path tool = daemon.folder() / "tool";
  const ClaimRef claim = add_claim("one", {"nic-2"});
};

class ServiceTest : public ServiceFixture, public ::testing::WithParamInterface<Death> {};

class DeathInService : public ServiceTest {};
INSTANTIATE_TEST_SUITE_P(FaultPoints, DeathInService,
                         ::testing::Values(Death{FaultPoint::kAfterServiceRecord, "host"},
                                           Death{FaultPoint::kAfterServiceRecord, "workers"},
                                           Death{FaultPoint::kAfterServiceStart, "host"},
                                           Death{FaultPoint::kAfterServiceStart, "workers"}),
                         kNameOfDeath);

TEST_P(DeathInService, TheNextPrepareFindsIt) {
  start_with(GetParam());
  (void)kubelet.prepare(kDriver, {claim}, std::chrono::seconds(5));
  survive(GetParam());
  ASSERT_TRUE(prepare_with_retries(claim)) << daemon.log();
  expect_one();
  ASSERT_TRUE(unprepare_with_retries(claim)) << daemon.log();
  expect_none();
}

TEST_P(DeathInService, NothingIsLeftIfThePodIsDeleted) {
  start_with(GetParam());
  (void)kubelet.prepare(kDriver, {claim}, std::chrono::seconds(5));
  survive(GetParam());
  ASSERT_TRUE(unprepare_with_retries(claim)) << daemon.log();
  expect_none();
}

class DeathBesideService : public ServiceTest {};
INSTANTIATE_TEST_SUITE_P(FaultPoints, DeathBesideService,
                         ::testing::Values(Death{FaultPoint::kAfterModuleUnprepare, "host"}), kNameOfDeath);

TEST_P(DeathBesideService, TheServiceGoesOnUntilTheClaimIsReleased) {
  start_and_register();
  ASSERT_TRUE(prepare_with_retries(claim)) << daemon.log();
  expect_one();
  const std::vector<pid_t> before = alive();
  daemon.crash();
  start_and_register();
  EXPECT_EQ(alive(), before);
  EXPECT_TRUE(logged("a service still runs")) << daemon.log();
  daemon.stop();
  EXPECT_EQ(alive(), before) << "an orderly stop does not end it, either";
  start_with(GetParam());
  (void)kubelet.unprepare(kDriver, {claim}, std::chrono::seconds(5));
  survive(GetParam());
  ASSERT_TRUE(unprepare_with_retries(claim)) << daemon.log();
  expect_none();
}

class ServicePermission : public ServiceFixture {};

TEST_F(ServicePermission, AServiceDoesNotOutliveIt) {
  start_and_register();
  ASSERT_TRUE(prepare_with_retries(claim)) << daemon.log();
  expect_one();
  daemon.stop();
  allow("");
  start_and_register();
  EXPECT_TRUE(eventually([&] { return alive().empty(); })) << daemon.log();
  EXPECT_TRUE(logged("stopping a service that its module may not run any more")) << daemon.log();
  const std::string why = fmt::format(
      "service 'helper' of module 'mock' is stopped: the module may not run '{}': add its "
      "path to the key programs of its [[module]]",
      tool.native());
  const auto repeated = kubelet.prepare(kDriver, {claim});
  ASSERT_TRUE(repeated && !repeated->at(claim.uid));
  EXPECT_THAT(repeated->at(claim.uid).error().message, ::testing::HasSubstr(why));
  allow(fmt::format("\"{}\"", tool.native()));
  expect_one();
  ASSERT_TRUE(prepare_with_retries(claim)) << daemon.log();
  ASSERT_TRUE(unprepare_with_retries(claim)) << daemon.log();
  expect_none();
}

TEST_F(ServicePermission, AReloadTakesItAway) {
  start_and_register();
  ASSERT_TRUE(prepare_with_retries(claim)) << daemon.log();
  expect_one();
  allow("");
  EXPECT_TRUE(eventually([&] { return alive().empty(); })) << daemon.log();
  ASSERT_TRUE(unprepare_with_retries(claim)) << daemon.log();
  expect_none();
}

}  // namespace
}  // namespace cardcage
