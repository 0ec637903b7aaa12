// Claims that wait for devices, from the first call of bind() to the scheduler's decision.
#include "host/binding/binder.h"

#include <gmock/gmock.h>

#include "tests/unit/claim/claim_world.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Status = DeviceCondition::Status;

Allocation bound_allocation(const std::string& device) {
  Allocation allocation = an_allocation(device);
  allocation.binding = {{"Ready"}, {"Failed"}};
  return allocation;
}

Claim waiting_claim(const std::string& uid, const std::string& device) {
  Claim claim = a_claim(uid, {bound_allocation(device)});
  claim.allocated_at = "2030-01-01T00:00:00Z";
  claim.reserved_for = {"pod-" + uid};
  return claim;
}

class BinderTest : public ClaimWorld {
 protected:
  BinderTest() {
    gpus->about.families.add(Family::kBind);
    gpus->bound = [this](const ModuleClaim& claim) { return BindProgress(claim.allocations.size(), conditions); };
    begin_binder();
  }
  ~BinderTest() override { stop_binder(); }

  void begin_binder() {
    binder = std::make_unique<Binder>(kDriver, preparer,
                                      BinderEnvironment{core, clock, cluster, *ledger, directory, deadlines});
    spawn(core, run_binder());
    settle();
  }
  Task<void> run_binder() {
    co_await binder->run();
    ended = true;
  }
  void stop_binder() {
    binder->stop();
    EXPECT_TRUE(until([&] { return ended; }));
    ended = false;
    binder.reset();
  }
  // Restarts as after a kill of the daemon, before its modules have listed their devices.
  void restart() {
    stop_binder();
    start();
    begin_binder();
  }
  void offer(const std::string& device) {
    offered.emplace("node", device);
    binder->set_devices(offered);
    settle();
  }
  void pass(Duration time) {
    let_the_ledger_write();
    for (Duration passed{0}; passed < time; passed += 500ms) {
      clock.advance(500ms);
      settle();
    }
  }
  std::vector<DeviceStatus> stated(const std::string& uid) const {
    return cluster.claim_status("team", "claim-" + uid, std::string(kDriver) + "/binding");
  }
  Status stated_status(const std::string& uid) const {
    const auto devices = stated(uid);
    return devices.size() == 1 && !devices[0].conditions.empty() ? devices[0].conditions[0].status : Status::kUnknown;
  }
  static std::vector<DeviceCondition> ready(bool is_ready, bool failed = false) {
    return {{"Ready", is_ready ? Status::kTrue : Status::kFalse, "Loaded", "", {}},
            {"Failed", failed ? Status::kTrue : Status::kFalse, "NoFault", "", {}}};
  }
  std::optional<ClaimPhase> phase(const std::string& uid) const {
    const auto known = record(uid);
    return known ? std::optional(known->phase) : std::nullopt;
  }

  std::vector<DeviceCondition> conditions = ready(false);
  Binder::Devices offered;
  std::unique_ptr<Binder> binder;
  bool ended = false;
};

TEST_F(BinderTest, FollowsNoClaimWithoutADeviceThatNeedsIt) {
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  pass(1min);
  EXPECT_EQ(cluster.count(FakeCluster::Verb::kFollow), 0u);
  offer("gpu-0");
  EXPECT_EQ(cluster.followers(), 1u);
  EXPECT_EQ(gpus->count<BindCall>(), 1);
  binder->set_devices({});
  settle();
  EXPECT_EQ(cluster.followers(), 1u) << "the started claim has to be released later";
  cluster.remove_claim("team", "claim-1");
  EXPECT_TRUE(until([&] { return !record("1") && cluster.followers() == 0; }));
}

TEST_F(BinderTest, StatesHowFarADeviceIsUntilItIsReady) {
  offer("gpu-0");
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  settle();
  EXPECT_EQ(phase("1"), ClaimPhase::kBinding) << "the device is held";
  ASSERT_THAT(stated("1"), SizeIs(1));
  const DeviceStatus first = stated("1")[0];
  EXPECT_EQ(std::tie(first.driver, first.pool, first.device), std::tuple(kDriver, "node", "gpu-0"));
  EXPECT_EQ(first.conditions[0].status, Status::kFalse);
  EXPECT_EQ(first.conditions[0].since, clock.wall());
  pass(9s);
  EXPECT_EQ(gpus->count<BindCall>(), 4) << "every 3 s";
  EXPECT_EQ(cluster.count(FakeCluster::Verb::kClaimStatus), 1u) << "the status is unchanged";

  conditions = ready(true);
  pass(3s);
  EXPECT_EQ(stated_status("1"), Status::kTrue);
  EXPECT_EQ(stated("1")[0].conditions[0].since, clock.wall());
  EXPECT_EQ(stated("1")[0].conditions[1].since, first.conditions[1].since) << "its status is unchanged";
  const int calls = gpus->count<BindCall>();
  pass(1min);
  EXPECT_EQ(gpus->count<BindCall>(), calls);
  EXPECT_TRUE(prepare("1"));
  EXPECT_EQ(phase("1"), ClaimPhase::kPrepared);
  pass(1min);
  EXPECT_EQ(gpus->count<UnprepareCall>(), 0);
}

TEST_F(BinderTest, AFailureIsStatedOnceAndTheDeviceIsReleasedWhenTheSchedulerChoosesAnother) {
  offer("gpu-0");
  offer("gpu-1");
  conditions = ready(false, true);
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  settle();
  EXPECT_EQ(stated("1")[0].conditions[1].status, Status::kTrue);
  pass(1min);
  EXPECT_EQ(gpus->count<BindCall>(), 1);

  conditions = ready(true);
  Claim other = waiting_claim("1", "gpu-1");
  other.allocated_at = "2030-01-01T00:00:10Z";
  cluster.put_claim(other);
  EXPECT_TRUE(until([&] { return gpus->count<UnprepareCall>() == 1 && gpus->count<BindCall>() == 2; }));
  pass(3s);
  EXPECT_EQ(phase("1"), ClaimPhase::kBinding);
  EXPECT_EQ(stated("1")[0].device, "gpu-1");
  EXPECT_EQ(stated_status("1"), Status::kTrue);
}

TEST_F(BinderTest, TheSameDeviceAllocatedAnewIsStatedAnew) {
  offer("gpu-0");
  conditions = ready(false, true);
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  settle();
  conditions = ready(true);
  Claim again = waiting_claim("1", "gpu-0");
  again.allocated_at = "2030-01-01T00:00:10Z";
  cluster.put_claim(again);
  settle();
  EXPECT_EQ(stated_status("1"), Status::kTrue);
  EXPECT_EQ(gpus->count<UnprepareCall>(), 0);
}

TEST_F(BinderTest, AClaimThatIsAllocatedAnewBeforeItsTurnIsBoundForItsNewDevice) {
  offer("gpu-0");
  offer("gpu-1");
  Wakeup other_call(core);
  const auto other = begin(preparer->run_alone(ref_of("1"), [&]() -> Task<cardcage::Status> {
    co_await other_call.wait();
    co_return cardcage::Status();
  }));
  settle();
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  settle();
  Claim again = waiting_claim("1", "gpu-1");
  again.allocated_at = "2030-01-01T00:00:10Z";
  cluster.put_claim(again);
  settle();
  other_call.wake();
  EXPECT_TRUE(until([&] { return other->has_value() && gpus->count<BindCall>() == 1; }));
  ASSERT_TRUE(record("1"));
  EXPECT_EQ(allocations_of(*record("1")).at(0).device, "gpu-1");
  pass(3s);
  EXPECT_EQ(gpus->count<UnprepareCall>(), 0) << "the first device was never prepared";
}

TEST_F(BinderTest, ReleasesWhatNobodyWaitsForAnyMore) {
  for (const char* device : {"gpu-0", "gpu-1", "gpu-2"}) offer(device);
  for (int i = 0; i < 3; ++i) cluster.put_claim(waiting_claim(std::to_string(i), fmt::format("gpu-{}", i)));
  settle();
  EXPECT_EQ(gpus->count<BindCall>(), 3);
  Claim unreserved = waiting_claim("0", "gpu-0"), deallocated = waiting_claim("1", "gpu-1");
  unreserved.reserved_for.clear();
  deallocated.allocated = false;
  deallocated.allocations.clear();
  cluster.put_claim(unreserved);
  cluster.put_claim(deallocated);
  cluster.remove_claim("team", "claim-2");
  EXPECT_TRUE(until([&] { return gpus->count<UnprepareCall>() == 3 && ledger->claims().empty(); }));
  pass(1min);
  EXPECT_EQ(gpus->count<BindCall>(), 3);
}

TEST_F(BinderTest, AClaimThatIsReservedAgainIsNotFoundReady) {
  offer("gpu-0");
  conditions = ready(true);
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  settle();
  EXPECT_EQ(stated_status("1"), Status::kTrue);
  Claim unreserved = waiting_claim("1", "gpu-0");
  unreserved.reserved_for.clear();
  cluster.put_claim(unreserved);
  EXPECT_TRUE(until([&] { return !record("1"); }));
  EXPECT_THAT(stated("1"), IsEmpty());
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  pass(3s);
  EXPECT_EQ(gpus->count<BindCall>(), 2);
  EXPECT_EQ(stated_status("1"), Status::kTrue);
}

TEST_F(BinderTest, AClaimThatHasLostItsLabelIsNotReleasedWhileAPodWaits) {
  offer("gpu-0");
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  settle();
  cluster.hide_claim("team", "claim-1");
  pass(1min);
  EXPECT_EQ(phase("1"), ClaimPhase::kBinding);
  EXPECT_EQ(gpus->count<UnprepareCall>(), 0);
  const std::size_t asked = cluster.count(FakeCluster::Verb::kGetClaim);
  EXPECT_GE(asked, 3u);
  EXPECT_LE(asked, 6u) << "every 15 s";
  const int calls = gpus->count<BindCall>();

  conditions = ready(true);
  cluster.show_claim("team", "claim-1");
  pass(3s);
  EXPECT_EQ(gpus->count<BindCall>(), calls + 1);
  EXPECT_EQ(stated_status("1"), Status::kTrue);
  EXPECT_EQ(cluster.count(FakeCluster::Verb::kGetClaim), asked);

  cluster.hide_claim("team", "claim-1");
  settle();
  cluster.remove_claim("team", "claim-1");
  pass(20s);
  EXPECT_TRUE(until([&] { return !record("1"); }));
  EXPECT_EQ(gpus->count<UnprepareCall>(), 1);
}

TEST_F(BinderTest, NothingIsReleasedBeforeTheClusterIsKnown) {
  offer("gpu-0");
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  settle();
  cluster.fail_next(FakeCluster::Verb::kGetClaim, 1, {Code::kUnavailable, "no response"});
  cluster.remove_claim("team", "claim-1");
  pass(10s);
  EXPECT_TRUE(record("1"));
  pass(10s);
  EXPECT_TRUE(until([&] { return !record("1"); }));
}

TEST_F(BinderTest, AReleaseThatFailsIsRepeated) {
  offer("gpu-0");
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  settle();
  gpus->fail<UnprepareCall>({Code::kUnavailable, "the fabric is busy"}, 2);
  cluster.remove_claim("team", "claim-1");
  settle();
  EXPECT_EQ(gpus->count<UnprepareCall>(), 1);
  EXPECT_TRUE(record("1")) << "its device is held until it is released";
  pass(3s);
  EXPECT_EQ(gpus->count<UnprepareCall>(), 2);
  pass(3s);
  EXPECT_TRUE(until([&] { return !record("1"); }));
  EXPECT_EQ(gpus->count<UnprepareCall>(), 3);
}

TEST_F(BinderTest, AClaimThatIsPreparedIsLeftToTheKubelet) {
  offer("gpu-0");
  conditions = ready(true);
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  settle();
  ASSERT_TRUE(prepare("1"));
  // A second pod that shares the claim finds it ready.
  Claim shared = waiting_claim("1", "gpu-0");
  shared.reserved_for.emplace_back("pod-2");
  cluster.put_claim(shared);
  pass(10s);
  EXPECT_EQ(gpus->count<BindCall>(), 1);
  EXPECT_EQ(stated_status("1"), Status::kTrue);

  cluster.remove_claim("team", "claim-1");
  pass(1min);
  EXPECT_EQ(phase("1"), ClaimPhase::kPrepared);
  EXPECT_EQ(gpus->count<UnprepareCall>(), 0);
}

TEST_F(BinderTest, AClaimWhosePodHasEndedIsNotBoundAgain) {
  offer("gpu-0");
  conditions = ready(true);
  Claim claim = waiting_claim("1", "gpu-0");
  claim.reserved_for.emplace_back("pod-2");
  cluster.put_claim(claim);
  settle();
  ASSERT_TRUE(prepare("1"));
  claim.reserved_for.pop_back();
  cluster.put_claim(claim);
  pass(3s);
  ASSERT_TRUE(unprepare("1"));
  pass(1min);
  EXPECT_EQ(gpus->count<BindCall>(), 1) << "the control plane has not removed the reservation yet";
  claim.reserved_for = {"pod-3"};
  cluster.put_claim(claim);
  settle();
  EXPECT_EQ(gpus->count<BindCall>(), 2);
}

TEST_F(BinderTest, ErrorsAreShownInTheClaim) {
  offer("gpu-0");
  gpus->fail<BindCall>({Code::kInternal, "the fabric manager is away"});
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  settle();
  ASSERT_THAT(stated("1"), SizeIs(1));
  EXPECT_THAT(stated("1")[0].conditions, ElementsAre(DeviceCondition{"Ready", Status::kUnknown, "BindFailed",
                                                                     "the fabric manager is away", clock.wall()}));
  conditions = ready(true);
  pass(3s);
  EXPECT_EQ(stated_status("1"), Status::kTrue);
}

TEST_F(BinderTest, ADeviceThatAnotherClaimHoldsIsNotBound) {
  offer("gpu-0");
  cluster.put_claim(a_claim("0", {an_allocation("gpu-0")}));
  ASSERT_TRUE(prepare("0"));
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  settle();
  EXPECT_EQ(gpus->count<BindCall>(), 0);
  ASSERT_THAT(stated("1"), SizeIs(1));
  EXPECT_THAT(stated("1")[0].conditions[0].message, HasSubstr("is prepared for claim team/claim-0"));
  EXPECT_FALSE(record("1"));
}

TEST_F(BinderTest, AStatusThatTheServerRefusesIsStatedAgain) {
  offer("gpu-0");
  conditions = ready(true);
  cluster.fail_next(FakeCluster::Verb::kClaimStatus, 1, {Code::kPermissionDenied, "forbidden"});
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  settle();
  EXPECT_THAT(stated("1"), IsEmpty());
  pass(3s);
  EXPECT_EQ(stated_status("1"), Status::kTrue);
}

TEST_F(BinderTest, ClaimsForOthersAreIgnored) {
  offer("gpu-0");
  Claim elsewhere = waiting_claim("1", "gpu-0"), foreign = waiting_claim("2", "gpu-0");
  elsewhere.allocations[0].pool = "node-2";
  foreign.allocations[0].driver = "other.example.com";
  cluster.put_claim(elsewhere);
  cluster.put_claim(foreign);
  cluster.put_claim(a_claim("3", {an_allocation("gpu-0")}));
  pass(10s);
  EXPECT_EQ(gpus->count<BindCall>(), 0);
  EXPECT_TRUE(ledger->claims().empty());
}

TEST_F(BinderTest, GoesOnAfterARestart) {
  offer("gpu-0");
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  settle();
  restart();
  EXPECT_EQ(phase("1"), ClaimPhase::kBinding);
  EXPECT_EQ(gpus->count<BindCall>(), 2) << "the claim is known although its device is not offered yet";
  conditions = ready(true);
  pass(3s);
  EXPECT_EQ(stated_status("1"), Status::kTrue);
  EXPECT_TRUE(prepare("1"));
}

TEST_F(BinderTest, ReleasesAfterARestartWhatNobodyWaitsFor) {
  offer("gpu-0");
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  settle();
  stop_binder();
  cluster.remove_claim("team", "claim-1");
  start();
  cluster.fail_next(FakeCluster::Verb::kFollow, 1, {Code::kUnavailable, "the API server is away"});
  begin_binder();
  EXPECT_EQ(gpus->count<UnprepareCall>(), 0) << "the claim may still exist";
  pass(2s);
  EXPECT_TRUE(until([&] { return gpus->count<UnprepareCall>() == 1 && !record("1") && cluster.followers() == 0; }));
}

TEST_F(BinderTest, AClaimThatAnotherListLacksIsReleased) {
  offer("gpu-0");
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  settle();
  EXPECT_EQ(phase("1"), ClaimPhase::kBinding);
  cluster.remove_claim("team", "claim-1");
  cluster.list_claims_again();
  EXPECT_TRUE(until([&] { return !record("1"); }));
}

TEST_F(BinderTest, ABrokenWatchBeginsAnew) {
  offer("gpu-0");
  cluster.end_following(fail(Code::kOutOfRange, "too old resource version"));
  settle();
  EXPECT_EQ(cluster.followers(), 0u);
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  pass(2s);
  EXPECT_EQ(gpus->count<BindCall>(), 1);
}

TEST_F(BinderTest, AfterALongOutageClaimsAreFollowedSoonAfterTheFirstSuccess) {
  offer("gpu-0");
  cluster.fail_next(FakeCluster::Verb::kFollow, 100'000, {Code::kUnavailable, "the API server is away"});
  cluster.end_following(fail(Code::kUnavailable, "the connection broke"));
  pass(10min);
  const auto attempts = [&] { return cluster.count(FakeCluster::Verb::kFollow); };
  const std::size_t before = attempts();
  for (int i = 0; i < 200 && attempts() == before; ++i) pass(500ms);  // the next one is 30 s away, or more
  cluster.forget_failures();
  cluster.put_claim(waiting_claim("1", "gpu-0"));
  ASSERT_TRUE(run(cluster.get_claim("team", "claim-1", clock.now() + 10s)));
  pass(20s);
  EXPECT_EQ(cluster.followers(), 1u);
}

}  // namespace
}  // namespace cardcage
