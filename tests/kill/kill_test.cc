// kill -9 of the daemon and of its workers at every step of prepare, unprepare and reload, and at random moments.
#include <signal.h>

#include <random>
#include <thread>

#include "tests/kill/kill_fixture.h"

namespace cardcage {
namespace {

using ::testing::SizeIs;
namespace fs = std::filesystem;

std::vector<Death> of_host_and_workers(const std::vector<FaultPoint>& points) {
  std::vector<Death> deaths;
  for (const FaultPoint point : points)
    for (const char* victim : {"host", "workers"}) deaths.push_back({point, victim});
  return deaths;
}

class DeathTest : public KillTest, public ::testing::WithParamInterface<Death> {
 protected:
  // Restarts a killed host, as the kubelet or systemd would, after a check of its books.
  void survive() {
    if (std::string_view(GetParam().victim) == "workers") {
      ASSERT_TRUE(logged("killed by signal 9"));
      return;
    }
    ASSERT_TRUE(daemon.wait_for_exit(std::chrono::seconds(10)));
    const Books books = audit();
    daemon.stop();
    start_and_register();
    expect_cdi_files(books);
  }
  const ClaimRef claim = add_claim("one", {"gpu-1", "nic-2"});
};

class DeathInPrepare : public DeathTest {};
INSTANTIATE_TEST_SUITE_P(FaultPoints, DeathInPrepare,
                         ::testing::ValuesIn(of_host_and_workers(
                             {FaultPoint::kAfterIntent, FaultPoint::kAfterJournal, FaultPoint::kAfterModulePrepare,
                              FaultPoint::kBeforeCommit, FaultPoint::kAfterCommit, FaultPoint::kAfterCdiWrite,
                              FaultPoint::kAfterPrepared})),
                         kNameOfDeath);

TEST_P(DeathInPrepare, IsRepeatedByTheKubelet) {
  start_with(GetParam());
  (void)kubelet.prepare(kDriver, {claim}, std::chrono::seconds(5));
  survive();
  ASSERT_TRUE(prepare_with_retries(claim)) << daemon.log();
  EXPECT_THAT(files(hardware()), SizeIs(2));
  EXPECT_THAT(claims_with_cdi_file(), SizeIs(1));
  if (GetParam().point == FaultPoint::kAfterJournal) {
    EXPECT_TRUE(logged("its journal came back: 'preparing " + claim.uid)) << "the dead module wrote it";
  }
  ASSERT_TRUE(unprepare_with_retries(claim));
  expect_nothing_left();
}

TEST_P(DeathInPrepare, IsUndoneIfThePodIsDeleted) {
  start_with(GetParam());
  (void)kubelet.prepare(kDriver, {claim}, std::chrono::seconds(5));
  fs::remove(daemon.folder() / "node/claims/default_one.json");
  survive();
  ASSERT_TRUE(unprepare_with_retries(claim)) << daemon.log();
  expect_nothing_left();
}

class DeathInUnprepare : public DeathTest {};
INSTANTIATE_TEST_SUITE_P(FaultPoints, DeathInUnprepare,
                         ::testing::ValuesIn(of_host_and_workers(
                             {FaultPoint::kAfterIntent, FaultPoint::kAfterModuleUnprepare, FaultPoint::kAfterCdiRemove,
                              FaultPoint::kBeforeCommit, FaultPoint::kAfterCommit, FaultPoint::kAfterRelease})),
                         kNameOfDeath);

TEST_P(DeathInUnprepare, IsRepeatedByTheKubelet) {
  start_and_register();
  ASSERT_THAT(prepare(claim), SizeIs(2));
  daemon.stop();
  start_with(GetParam());
  (void)kubelet.unprepare(kDriver, {claim}, std::chrono::seconds(5));
  survive();
  ASSERT_TRUE(unprepare_with_retries(claim)) << daemon.log();
  expect_nothing_left();
}

class DeathInReload : public DeathTest {};
INSTANTIATE_TEST_SUITE_P(FaultPoints, DeathInReload,
                         ::testing::ValuesIn(of_host_and_workers(
                             {FaultPoint::kBeforeTakeOver, FaultPoint::kAfterTakeOver, FaultPoint::kAfterReload})),
                         kNameOfDeath);

TEST_P(DeathInReload, KeepsTheClaimsOfTheModule) {
  start_with(GetParam());
  const auto before = prepare(claim);
  ASSERT_THAT(before, SizeIs(2));
  configure_with("gpu_model = \"another\"");
  survive();
  const bool same = kubelet.wait_for(
      [&] {
        const auto response = kubelet.prepare(kDriver, {claim});
        return response && response->at(claim.uid) && *response->at(claim.uid) == before;
      },
      std::chrono::seconds(10));
  EXPECT_TRUE(same) << daemon.log();
  EXPECT_THAT(files(hardware()), SizeIs(2));
  const ClaimRef other = add_claim("another", {"gpu-0"});
  EXPECT_TRUE(prepare_with_retries(other)) << "the module must work again\n" << daemon.log();
  ASSERT_TRUE(unprepare_with_retries(claim));
  ASSERT_TRUE(unprepare_with_retries(other));
  expect_nothing_left();
}

// Claims compete for devices while the daemon and its workers are killed and the module's file and the configuration
// change.
class RandomLife : public KillTest, public ::testing::WithParamInterface<unsigned> {
 protected:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  void take_step(int step) {
    const ClaimRef& claim = claims_[static_cast<std::size_t>(pick(kClaims))];
    const bool preparing = pick(3) > 0;
    const auto call = [&] {
      const auto limit = std::chrono::seconds(5);
      if (preparing)
        (void)kubelet.prepare(kDriver, {claim}, limit);
      else
        (void)kubelet.unprepare(kDriver, {claim}, limit);
    };
    switch (pick(8)) {
      case 0:
      case 1: return crash_during(call);
      case 2: return kill_workers_during(call);
      case 3: configure_with(fmt::format("gpu_model = \"model {}\"", step)); return call();
      case 4: install_module(another_build(std::to_string(step))); return call();
      default: return call();
    }
  }

  void audited_restart() {
    if (daemon.running()) daemon.crash();
    const Books books = audit();
    start_and_register();
    expect_cdi_files(books);
  }

  std::vector<ClaimRef> claims_;
  static constexpr int kClaims = 5;

 private:
  template <class Call>
  void crash_during(Call call) {
    std::jthread caller(call);
    std::this_thread::sleep_for(std::chrono::microseconds(pick(4000)));
    daemon.crash();
    caller.join();
    audited_restart();
  }
  template <class Call>
  void kill_workers_during(Call call) {
    std::jthread caller(call);
    std::this_thread::sleep_for(std::chrono::microseconds(pick(4000)));
    for (const pid_t pid : daemon.workers()) ::kill(pid, SIGKILL);
  }
  std::mt19937 random_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomLife, ::testing::Range(1u, 5u),
                         [](const auto& about) { return fmt::format("Seed{}", about.param); });

TEST_P(RandomLife, NeverLosesADeviceAndNeverAllocatesItTwice) {
  // Five claims for four GPUs and four NICs: the first and the last compete for gpu-0 and nic-1.
  for (int i = 0; i < kClaims; ++i)
    claims_.push_back(add_claim(std::string("claim-") + static_cast<char>('a' + i),
                                {fmt::format("gpu-{}", i % 4), fmt::format("nic-{}", (i + 1) % 4)}));
  start_and_register();
  for (int step = 0; step < 40; ++step) {
    take_step(step);
    if (HasFailure()) FAIL() << "step " << step;
  }
  audited_restart();
  for (const ClaimRef& claim : claims_) EXPECT_TRUE(unprepare_with_retries(claim)) << claim.name;
  expect_nothing_left();
}

}  // namespace
}  // namespace cardcage
