// kill -9 of the daemon and of its workers at every step of prepare, unprepare and reload, and a random life.
#include <signal.h>

#include <fstream>
#include <random>
#include <thread>

#include "host/core/file.h"
#include "tests/kill/kill_fixture.h"

namespace cardcage {
namespace {

using ::testing::SizeIs;
namespace fs = std::filesystem;

std::string name_of(const ::testing::TestParamInfo<Death>& info) {
  static constexpr const char* kPoints[] = {
      "BeforeCommit",         "AfterCommit",    "AfterIntent",  "AfterModulePrepare", "AfterCdiWrite", "AfterPrepared",
      "AfterModuleUnprepare", "AfterCdiRemove", "AfterRelease", "BeforeTakeOver",     "AfterTakeOver", "AfterReload"};
  return fmt::format("{}{}{}", info.param.victim, kPoints[static_cast<int>(info.param.point)], info.param.nth);
}

std::vector<Death> of_both(std::vector<std::pair<FaultPoint, int>> places) {
  std::vector<Death> deaths;
  for (const auto& [point, nth] : places)
    for (const char* victim : {"host", "workers"}) deaths.push_back({point, nth, victim});
  return deaths;
}

class DeathTest : public KillTest, public ::testing::WithParamInterface<Death> {
 protected:
  // A host that is dead comes back, as a kubelet's pod or systemd brings it; its books are right before it does.
  void survive() {
    if (std::string_view(GetParam().victim) == "workers") {
      ASSERT_TRUE(kubelet.wait_for([&] { return daemon.log().find("killed by signal 9") != std::string::npos; }));
      return;
    }
    ASSERT_TRUE(dies());
    const Books books = audit();
    daemon.stop();
    start_and_register();
    expect_cdi_files(books);
  }
  const ClaimRef claim = add_claim("one", {"gpu-1", "nic-2"});
};

class DeathInPrepare : public DeathTest {};
INSTANTIATE_TEST_SUITE_P(Each, DeathInPrepare,
                         ::testing::ValuesIn(of_both({{FaultPoint::kAfterIntent, 1},
                                                      {FaultPoint::kAfterModulePrepare, 1},
                                                      {FaultPoint::kBeforeCommit, 1},
                                                      {FaultPoint::kAfterCommit, 1},
                                                      {FaultPoint::kAfterCdiWrite, 1},
                                                      {FaultPoint::kAfterPrepared, 1}})),
                         name_of);

TEST_P(DeathInPrepare, IsRepeatedByTheKubelet) {
  start_with(GetParam());
  (void)kubelet.prepare(kDriver, {claim}, std::chrono::seconds(5));
  survive();
  ASSERT_TRUE(prepare_at_last(claim)) << daemon.log();
  EXPECT_THAT(files(hardware()), SizeIs(2));
  EXPECT_THAT(cdi_files(), SizeIs(1));
  ASSERT_TRUE(unprepare_at_last(claim));
  expect_nothing_left();
}

TEST_P(DeathInPrepare, IsUndoneIfThePodIsDeletedInstead) {
  start_with(GetParam());
  (void)kubelet.prepare(kDriver, {claim}, std::chrono::seconds(5));
  fs::remove(daemon.folder() / "node/claims/default_one.json");
  survive();
  ASSERT_TRUE(unprepare_at_last(claim)) << daemon.log();
  expect_nothing_left();
}

class DeathInUnprepare : public DeathTest {};
INSTANTIATE_TEST_SUITE_P(Each, DeathInUnprepare,
                         ::testing::ValuesIn(of_both({{FaultPoint::kAfterIntent, 1},
                                                      {FaultPoint::kAfterModuleUnprepare, 1},
                                                      {FaultPoint::kAfterCdiRemove, 1},
                                                      {FaultPoint::kBeforeCommit, 1},
                                                      {FaultPoint::kAfterCommit, 1},
                                                      {FaultPoint::kAfterRelease, 1}})),
                         name_of);

TEST_P(DeathInUnprepare, IsRepeatedByTheKubelet) {
  start_and_register();
  ASSERT_THAT(prepare(claim), SizeIs(2));
  daemon.stop();
  start_with(GetParam());
  (void)kubelet.unprepare(kDriver, {claim}, std::chrono::seconds(5));
  survive();
  ASSERT_TRUE(unprepare_at_last(claim)) << daemon.log();
  expect_nothing_left();
}

class DeathInReload : public DeathTest {};
INSTANTIATE_TEST_SUITE_P(Each, DeathInReload,
                         ::testing::ValuesIn(of_both({{FaultPoint::kBeforeTakeOver, 1},
                                                      {FaultPoint::kAfterTakeOver, 1},
                                                      {FaultPoint::kAfterReload, 1}})),
                         name_of);

TEST_P(DeathInReload, LeavesTheClaimsOfTheModuleAsTheyWere) {
  start_with(GetParam());
  const auto before = prepare(claim);
  ASSERT_THAT(before, SizeIs(2));
  configure_with("gpu_model = \"another\"");
  survive();
  const bool same = kubelet.wait_for(
      [&] {
        const auto answer = kubelet.prepare(kDriver, {claim});
        return answer && answer->at(claim.uid) && *answer->at(claim.uid) == before;
      },
      std::chrono::seconds(10));
  EXPECT_TRUE(same) << daemon.log();
  EXPECT_THAT(files(hardware()), SizeIs(2));
  const ClaimRef other = add_claim("another", {"gpu-0"});
  EXPECT_TRUE(prepare_at_last(other)) << "the module works again\n" << daemon.log();
  ASSERT_TRUE(unprepare_at_last(claim));
  ASSERT_TRUE(unprepare_at_last(other));
  expect_nothing_left();
}

// Pods come and go and fight for devices, while the daemon, its workers, the module's file and the configuration do
// not last.
class RandomLife : public KillTest, public ::testing::WithParamInterface<unsigned> {
 protected:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  void live(int step) {
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
      case 4: replace_module(step); return call();
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
  // The same module as another file: what comes after its last section is nobody's.
  void replace_module(int step) {
    const fs::path installed = daemon.folder() / "modules/libcardcage_mock.so", next = daemon.folder() / "modules/next";
    std::ofstream(next) << read_file(CARDCAGE_MOCK, 64u << 20).value() << step;
    fs::permissions(next, fs::perms(0644));
    fs::rename(next, installed);
  }

  std::mt19937 random_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Each, RandomLife, ::testing::Range(1u, 5u));

TEST_P(RandomLife, NeverLosesADeviceAndNeverGivesItTwice) {
  // Neighbours share a gpu and a nic; five claims, four of each.
  for (int i = 0; i < kClaims; ++i)
    claims_.push_back(add_claim(std::string("claim-") + static_cast<char>('a' + i),
                                {fmt::format("gpu-{}", i % 4), fmt::format("nic-{}", (i + 1) % 4)}));
  start_and_register();
  for (int step = 0; step < 40; ++step) {
    live(step);
    if (HasFailure()) FAIL() << "step " << step;
  }
  audited_restart();
  for (const ClaimRef& claim : claims_) EXPECT_TRUE(unprepare_at_last(claim)) << claim.name;
  expect_nothing_left();
}

}  // namespace
}  // namespace cardcage
