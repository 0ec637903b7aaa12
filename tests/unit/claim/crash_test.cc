// The host is killed at any point. The ledger still knows every device that the modules hold, and the kubelet's next
// call succeeds.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "tests/fakes/fault_point_names.h"
#include "tests/unit/claim/claim_world.h"
#include "tests/unit/ledger/sync_counter.h"

namespace cardcage {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// The hardware outlives processes: one file per device that is set up, which contains its claim.
class CrashTest : public ClaimWorld {
 protected:
  CrashTest() {
    std::filesystem::create_directories(hardware_);
    for (const auto& module : {gpus, nics})
      module->touch = [this](std::string_view call, const ModuleClaim& claim) {
        for (const ModuleAllocation& allocation : claim.allocations) {
          if (call == PrepareCall::kName)
            std::ofstream(hardware_ / allocation.device_id) << claim.ref.uid;
          else
            std::filesystem::remove(hardware_ / allocation.device_id);
        }
      };
  }

  // Runs `call` in a process of its own that is killed when it reaches `point` for the `nth` time. Returns whether it
  // was killed.
  bool killed_in(FaultPoint point, int nth, const std::function<void()>& call) {
    preparer.reset();
    ledger.reset();
    const pid_t child = ::fork();
    if (child == 0) {
      core.notify_fork(asio::io_context::fork_child);
      start([point, nth, reached = 0](FaultPoint at) mutable {
        if (at == point && ++reached == nth) ::kill(::getpid(), SIGKILL);
      });
      call();
      let_the_ledger_write();
      // End without destructors and sanitizers: the files belong to the parent.
      ::kill(::getpid(), SIGTERM);
      ::pause();
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }

  std::map<std::string, std::string> hardware() const {
    std::map<std::string, std::string> devices;
    for (const auto& entry : std::filesystem::directory_iterator(hardware_))
      devices[entry.path().filename()] = read_file(entry.path(), 100).value();
    return devices;
  }

  // The invariants after every start of the host.
  void check() {
    for (const auto& [device, uid] : hardware()) {
      const auto claim = record(uid);
      ASSERT_NE(claim, nullptr) << device << " is set up for " << uid << ", and the ledger does not know";
      EXPECT_TRUE(std::ranges::any_of(claim->parts, [&](const ModulePart& part) {
        return std::ranges::find(part.devices, device, &HeldDevice::device_id) != part.devices.end();
      })) << device;
    }
    for (const auto& [key, claim] : ledger->claims()) {
      EXPECT_TRUE(claim->phase != ClaimPhase::kPrepared || has_cdi_file(key.uid)) << key.uid;
    }
    const auto files = cdi.list();
    ASSERT_TRUE(files);
    for (const ClaimFile& file : *files) EXPECT_NE(record(file.uid), nullptr) << file.uid;
  }

  std::filesystem::path hardware_ = folder / "hardware";
};

struct Kill {
  FaultPoint point;
  int nth;
  std::string name() const { return name_of(point) + (nth == 1 ? "" : "OfTheSecondModule"); }
  friend void PrintTo(const Kill& kill, std::ostream* out) { *out << kill.name(); }
};
constexpr auto kKillName = [](const ::testing::TestParamInfo<Kill>& info) { return info.param.name(); };
class KilledPrepareTest : public CrashTest, public ::testing::WithParamInterface<Kill> {};
INSTANTIATE_TEST_SUITE_P(Each, KilledPrepareTest,
                         ::testing::Values(Kill{FaultPoint::kAfterIntent, 1}, Kill{FaultPoint::kAfterModulePrepare, 1},
                                           Kill{FaultPoint::kAfterModulePrepare, 2}, Kill{FaultPoint::kBeforeCommit, 1},
                                           Kill{FaultPoint::kAfterCommit, 1}, Kill{FaultPoint::kAfterCdiWrite, 1},
                                           Kill{FaultPoint::kAfterPrepared, 1}),
                         kKillName);

TEST_P(KilledPrepareTest, IsRepeatedByTheKubelet) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0"), an_allocation("nic-0")}));
  ASSERT_TRUE(killed_in(GetParam().point, GetParam().nth, [&] { (void)prepare("u1"); }));
  start();
  check();
  const auto devices = prepare("u1");
  ASSERT_TRUE(devices) << devices.error().message;
  EXPECT_THAT(*devices, SizeIs(2));
  EXPECT_THAT(hardware(), SizeIs(2));
  check();
}

TEST_P(KilledPrepareTest, IsUndoneIfThePodIsDeletedInstead) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0"), an_allocation("nic-0")}));
  ASSERT_TRUE(killed_in(GetParam().point, GetParam().nth, [&] { (void)prepare("u1"); }));
  cluster.remove_claim("team", "claim-u1");
  start();
  ASSERT_TRUE(unprepare("u1"));
  EXPECT_THAT(hardware(), IsEmpty());
  EXPECT_THAT(ledger->claims(), IsEmpty());
  EXPECT_THAT(*cdi.list(), IsEmpty());
}

class KilledUnprepareTest : public CrashTest, public ::testing::WithParamInterface<Kill> {};
INSTANTIATE_TEST_SUITE_P(Each, KilledUnprepareTest,
                         ::testing::Values(Kill{FaultPoint::kAfterIntent, 1},
                                           Kill{FaultPoint::kAfterModuleUnprepare, 1},
                                           Kill{FaultPoint::kAfterModuleUnprepare, 2},
                                           Kill{FaultPoint::kAfterCdiRemove, 1}, Kill{FaultPoint::kBeforeCommit, 1},
                                           Kill{FaultPoint::kAfterCommit, 1}, Kill{FaultPoint::kAfterRelease, 1}),
                         kKillName);

TEST_P(KilledUnprepareTest, IsRepeatedByTheKubelet) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0"), an_allocation("nic-0")}));
  ASSERT_TRUE(killed_in(GetParam().point, GetParam().nth, [&] { (void)unprepare("u1"); }));
  start();
  check();
  ASSERT_TRUE(unprepare("u1"));
  EXPECT_THAT(hardware(), IsEmpty());
  EXPECT_THAT(ledger->claims(), IsEmpty());
  EXPECT_THAT(*cdi.list(), IsEmpty());
  EXPECT_THAT(*run(ledger->history({})), SizeIs(2)) << "once per device";
}

TEST_P(KilledUnprepareTest, IsFollowedByAPrepareOfAnotherPod) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0"), an_allocation("nic-0")}));
  ASSERT_TRUE(killed_in(GetParam().point, GetParam().nth, [&] { (void)unprepare("u1"); }));
  start();
  ASSERT_TRUE(prepare("u1"));
  EXPECT_THAT(hardware(), SizeIs(2)) << "a half-released device is set up again";
  check();
}

// The node loses its power: the disk has the last synced state, and the memory of the node is empty.
class PowerLossTest : public CrashTest {
 protected:
  void lose_power() {
    const auto frozen = folder / "frozen";
    std::filesystem::copy(image_, frozen);
    preparer.reset();
    ledger.reset();
    for (const char* name : {"ledger.db", "ledger.db-wal"}) {
      std::filesystem::remove(folder / "state" / name);
      std::filesystem::copy_file(frozen / name, folder / "state" / name);
    }
    std::filesystem::remove_all(cdi.folder());
    boot_id = "boot-2";
    start();
  }

  std::filesystem::path image_ = [this] {
    std::filesystem::create_directories(folder / "image");
    return folder / "image";
  }();
  const SyncCounter disk_{[this] {
    for (const char* name : {"ledger.db", "ledger.db-wal"})
      if (std::filesystem::exists(folder / "state" / name))
        std::filesystem::copy_file(folder / "state" / name, image_ / name,
                                   std::filesystem::copy_options::overwrite_existing);
  }};
};

TEST_F(PowerLossTest, KeepsWhatWasSynced) {
  start();
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  ASSERT_TRUE(prepare_new("u2", {an_allocation("gpu-1")}));
  let_the_ledger_write();
  ASSERT_TRUE(unprepare("u2"));
  let_the_ledger_write();
  gpus->fail<PrepareCall>({Code::kInternal, "power was lost here"});
  ASSERT_FALSE(prepare_new("u3", {an_allocation("gpu-2")}));
  lose_power();
  EXPECT_EQ(record("u1")->parts[0].state, "state of u1");
  EXPECT_EQ(record("u2"), nullptr) << "a released device stays released";
  EXPECT_EQ(record("u3"), nullptr);
  EXPECT_THAT(live_claims(*ledger, directory, "gpus"), SizeIs(1)) << "reconcile frees the other devices";
  EXPECT_TRUE(prepare("u1"));
  ledger.reset();
}

TEST_F(PowerLossTest, ForgetsTheLastMillisecondsAndTheKubeletRepeatsThem) {
  start();
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  let_the_ledger_write();
  ASSERT_TRUE(prepare_new("u2", {an_allocation("gpu-1")}));
  ASSERT_TRUE(prepare_new("u3", {an_allocation("gpu-2")}));
  ASSERT_TRUE(unprepare("u1"));
  lose_power();
  EXPECT_EQ(record("u2"), nullptr);
  EXPECT_EQ(record("u3"), nullptr);
  EXPECT_FALSE(is_whole(*record("u1"), boot_id)) << "it is back, as a claim of another boot";
  EXPECT_THAT(live_claims(*ledger, directory, "gpus"), SizeIs(1)) << "reconcile frees the other devices";
  ASSERT_TRUE(prepare("u2")) << "its pod runs again after the boot";
  EXPECT_TRUE(has_cdi_file("u2"));
  EXPECT_TRUE(unprepare("u3")) << "its pod was deleted meanwhile";
  EXPECT_TRUE(unprepare("u1")) << "after the search for orphans has found it";
  EXPECT_THAT(ledger->claims(), SizeIs(1));
  ledger.reset();
}

// Random calls for claims that compete for devices, with random kills of the host.
class RandomLifeTest : public CrashTest, public ::testing::WithParamInterface<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomLifeTest, ::testing::Range(1u, 7u),
                         [](const auto& about) { return fmt::format("Seed{}", about.param); });

TEST_P(RandomLifeTest, NeverLosesADeviceNorGivesItTwice) {
  std::mt19937 random(GetParam());
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  // Neighbours share a device.
  constexpr int kClaims = 5;
  for (int i = 0; i < kClaims; ++i)
    cluster.put_claim(a_claim(fmt::format("u{}", i), {an_allocation(fmt::format("gpu-{}", i)),
                                                      an_allocation(fmt::format("gpu-{}", (i + 1) % kClaims))}));
  for (int step = 0; step < 40; ++step) {
    const std::string uid = fmt::format("u{}", pick(kClaims));
    const bool preparing = pick(3) > 0;
    const auto call = [&] {
      if (preparing)
        (void)prepare(uid);
      else
        (void)unprepare(uid);
    };
    const int fate = pick(4);
    if (fate == 0) {
      (void)killed_in(static_cast<FaultPoint>(pick(static_cast<int>(FaultPoint::kAfterRelease) + 1)), 1 + pick(2),
                      call);
      start();
    } else if (fate == 1) {
      gpus->fail(preparing ? PrepareCall::kName : UnprepareCall::kName, {Code::kInternal, "bad luck"});
      call();
      gpus->fail<PrepareCall>({}, 0);
      gpus->fail<UnprepareCall>({}, 0);
    } else {
      call();
    }
    check();
    if (HasFatalFailure()) FAIL() << "step " << step;
    for (const auto& [key, claim] : ledger->claims()) {
      if (claim->phase != ClaimPhase::kPrepared) continue;
      for (const HeldDevice& device : claim->parts[0].devices)
        EXPECT_EQ(hardware()[device.device_id], key.uid) << "step " << step;
    }
  }
  for (int i = 0; i < kClaims; ++i) EXPECT_TRUE(unprepare(fmt::format("u{}", i)));
  EXPECT_THAT(hardware(), IsEmpty());
  EXPECT_THAT(ledger->claims(), IsEmpty());
  EXPECT_THAT(*cdi.list(), IsEmpty());
}

}  // namespace
}  // namespace cardcage
