#include "host/claim/claim_statuses.h"

#include <gmock/gmock.h>

#include <boost/asio/bind_cancellation_slot.hpp>

#include "tests/unit/claim/claim_world.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

DeviceStatement ready(DeviceCondition::Status status = DeviceCondition::Status::kTrue, std::string data = "") {
  return {.conditions = {{"Ready", status, "Linked", "", {}}}, .data = std::move(data)};
}

class ClaimStatusesTest : public ClaimWorld {
 protected:
  ClaimStatusesTest() {
    gpus->edits = [this](const ModuleClaim& claim) {
      PreparedEdits edits;
      edits.allocations.resize(claim.allocations.size());
      edits.statements.assign(claim.allocations.size(), statement);
      return edits;
    };
    asio::co_spawn(core, statuses.run(), asio::bind_cancellation_slot(stop.slot(), asio::detached));
  }
  ~ClaimStatusesTest() override {
    stop.emit(asio::cancellation_type::terminal);
    settle();
  }
  void prepare_one(const std::string& uid, const std::string& device = "gpu-0") {
    const auto prepared = prepare_new(uid, {an_allocation(device)});
    ASSERT_TRUE(prepared) << prepared.error().message;
    settle();
  }
  std::vector<DeviceStatus> stated(const std::string& uid) const {
    return cluster.claim_status("team", "claim-" + uid, kDriver);
  }
  std::size_t writes() const { return cluster.count(FakeCluster::Verb::kClaimStatus); }
  void fail_writes(int count, Code code, std::string text = "away") {
    cluster.fail_next(FakeCluster::Verb::kClaimStatus, count, {code, std::move(text)});
  }
  WallTime now() const { return std::chrono::floor<std::chrono::milliseconds>(clock.wall()); }
  void pass(Duration time) {
    advance_at_rest(time);
    settle();
  }
  std::string condition() const {
    const auto now = statuses.condition();
    return now ? now->reason : "none";
  }

  DeviceStatement statement = ready();
  asio::cancellation_signal stop;
};

TEST_F(ClaimStatusesTest, IsWrittenAfterPrepareAndRemovedAfterUnprepare) {
  EXPECT_EQ(condition(), "none");
  statement = ready(DeviceCondition::Status::kTrue, R"({"lanes":16})");
  statement.network = NetworkData{"net1", {"10.1.2.3/24"}, ""};
  prepare_one("u1");
  ASSERT_THAT(stated("u1"), SizeIs(1));
  const DeviceStatus entry = stated("u1").front();
  EXPECT_EQ(entry.driver, kDriver);
  EXPECT_EQ(entry.pool, "node");
  EXPECT_EQ(entry.device, "gpu-0");
  EXPECT_EQ(entry.data, R"({"lanes":16})");
  EXPECT_EQ(entry.network, statement.network);
  ASSERT_THAT(entry.conditions, SizeIs(1));
  EXPECT_EQ(entry.conditions[0].since, now());
  EXPECT_EQ(condition(), "written");

  ASSERT_TRUE(prepare("u1")) << "a repetition";
  settle();
  EXPECT_EQ(writes(), 1u);
  ASSERT_TRUE(unprepare("u1"));
  settle();
  EXPECT_THAT(stated("u1"), IsEmpty());
  EXPECT_EQ(writes(), 2u);
  EXPECT_EQ(condition(), "none");
}

TEST_F(ClaimStatusesTest, AClaimOfWhichNothingIsStatedCostsNothing) {
  statement = {};
  prepare_one("u1");
  ASSERT_TRUE(unprepare("u1"));
  settle();
  EXPECT_EQ(writes(), 0u);
  EXPECT_EQ(cluster.count(FakeCluster::Verb::kGetClaim), 1u);
}

TEST_F(ClaimStatusesTest, NeverDelaysNorFailsAPrepare) {
  fail_writes(3, Code::kUnavailable);
  prepare_one("u1");
  EXPECT_THAT(stated("u1"), IsEmpty());
  EXPECT_EQ(condition(), "failing");
  for (int i = 0; i < 3; ++i) pass(5s);
  EXPECT_THAT(stated("u1"), SizeIs(1));
  EXPECT_EQ(condition(), "written");
  EXPECT_EQ(writes(), 4u);
}

TEST_F(ClaimStatusesTest, AMissingRightIsNamedWithItsRemedyAndTriedAgainLater) {
  fail_writes(1, Code::kPermissionDenied, "forbidden");
  prepare_one("u1");
  EXPECT_EQ(condition(), "refused");
  EXPECT_THAT(statuses.condition()->text, HasSubstr("claimStatus.enabled=true"));
  pass(1s);
  EXPECT_THAT(stated("u1"), SizeIs(1));
  EXPECT_EQ(condition(), "written");
}

// Many claims are prepared and released on the node, without claimStatus of the chart.
TEST_F(ClaimStatusesTest, AfterALongOutageAllClaimsAreWrittenOnceTheClusterResponds) {
  fail_writes(100'000, Code::kUnavailable);
  prepare_one("u1");
  prepare_one("u2", "gpu-1");
  let_the_ledger_write();  // before time passes, or its disk seems to hang
  for (int i = 0; i < 20; ++i) pass(1min);
  EXPECT_EQ(condition(), "failing");
  cluster.forget_failures();
  pass(1s);
  EXPECT_THAT(stated("u1"), IsEmpty()) << "its pause is long";
  ASSERT_TRUE(run(cluster.get_claim("team", "claim-u1", clock.now() + 10s)));
  pass(1s);
  EXPECT_THAT(stated("u1"), SizeIs(1));
  EXPECT_THAT(stated("u2"), SizeIs(1));
  EXPECT_EQ(condition(), "written");
}

TEST_F(ClaimStatusesTest, WithoutTheRightOneClaimTriesForAllAndNoneIsLeftBehind) {
  fail_writes(100'000, Code::kPermissionDenied, "forbidden");
  const auto record_of = [](int i) {
    ClaimRecord claim = a_record(fmt::format("u{}", i));
    claim.parts[0].devices[0].status_data = "{}";
    return claim;
  };
  std::size_t most = 0;
  for (int i = 0; i < 1'500; ++i) {
    statuses.state(record_of(i));
    if (i >= 50) statuses.withdraw(record_of(i - 50).key());
    pass(1s);
    most = std::max(most, statuses.size());
  }
  EXPECT_LE(most, 51u) << "as many as existing claims";
  EXPECT_EQ(condition(), "refused");
  EXPECT_LE(writes(), 20u) << "in 25 minutes";
  const std::size_t before = writes();
  for (int i = 0; i < 60; ++i) pass(1min);
  EXPECT_LE(writes() - before, 30u) << "in an hour with 50 claims";
  for (int i = 1'450; i < 1'500; ++i) statuses.withdraw(record_of(i).key());
  EXPECT_EQ(statuses.size(), 0u);
  EXPECT_EQ(condition(), "none");
}

TEST_F(ClaimStatusesTest, AllClaimsAreWrittenOnceTheRightIsThere) {
  fail_writes(3, Code::kPermissionDenied, "forbidden");
  for (const std::string uid : {"u1", "u2", "u3", "u4"}) {
    ClaimRecord claim = a_record(uid);
    claim.parts[0].devices[0].status_data = "{}";
    cluster.put_claim(a_claim(uid, {an_allocation("gpu-0")}));
    statuses.state(claim);
  }
  for (int i = 0; i < 10; ++i) pass(1s);
  for (const std::string uid : {"u1", "u2", "u3", "u4"}) EXPECT_THAT(stated(uid), SizeIs(1)) << uid;
  EXPECT_EQ(writes(), 7u);
}

TEST_F(ClaimStatusesTest, WhatMayBeStoredIsRemovedOnceTheRightIsBack) {
  prepare_one("u1");
  ASSERT_THAT(stated("u1"), SizeIs(1));
  fail_writes(2, Code::kPermissionDenied, "forbidden");
  ASSERT_TRUE(unprepare("u1"));
  let_the_ledger_write();  // before time passes, or its disk seems to hang
  for (int i = 0; i < 10; ++i) pass(1s);
  EXPECT_THAT(stated("u1"), IsEmpty());
  EXPECT_EQ(statuses.size(), 0u);

  cluster.lose_answers(FakeCluster::Verb::kClaimStatus, 1);
  prepare_one("u2");
  ASSERT_TRUE(unprepare("u2"));
  for (int i = 0; i < 10; ++i) pass(1s);
  EXPECT_THAT(stated("u2"), IsEmpty());
  EXPECT_EQ(statuses.size(), 0u);
}

TEST_F(ClaimStatusesTest, ADriverWithoutTheRightDoesNotHoldUpAnother) {
  fail_writes(1, Code::kPermissionDenied, "forbidden");
  prepare_one("u1");
  ClaimRecord other = a_record("u2");
  other.driver = "other.example.com";
  other.parts[0].devices[0].status_data = "{}";
  cluster.put_claim(a_claim("u2", {an_allocation("gpu-0")}));
  statuses.state(other);
  settle();
  EXPECT_THAT(cluster.claim_status("team", "claim-u2", "other.example.com"), SizeIs(1));
  EXPECT_EQ(condition(), "refused") << "the first driver";
}

TEST_F(ClaimStatusesTest, RemembersABoundedNumberOfClaims) {
  const auto record_of = [](std::size_t i) {
    ClaimRecord claim = a_record(fmt::format("u{}", i));
    claim.parts[0].devices[0].status_data = "{}";
    return claim;
  };
  fail_writes(100'000, Code::kUnavailable);
  for (std::size_t i = 0; i < ClaimStatuses::kMaxClaims; ++i) statuses.restore(record_of(i));
  for (std::size_t i = 0; i < 10; ++i) statuses.withdraw(record_of(i).key());
  for (std::size_t i = 0; i < 20; ++i) statuses.state(record_of(ClaimStatuses::kMaxClaims + i));
  EXPECT_EQ(statuses.size(), ClaimStatuses::kMaxClaims);
}

TEST_F(ClaimStatusesTest, AClaimThatIsGoneOrReplacedIsLeftAlone) {
  fail_writes(1, Code::kNotFound);
  prepare_one("u1");
  fail_writes(1, Code::kAborted);
  prepare_one("u2", "gpu-1");
  pass(1h);
  EXPECT_EQ(writes(), 2u);
  EXPECT_EQ(condition(), "written");
}

TEST_F(ClaimStatusesTest, WhatTheServerCallsInvalidIsRepeatedRarelyUntilItIsTaken) {
  fail_writes(5, Code::kInvalidArgument);
  prepare_one("u1");
  EXPECT_THAT(stated("u1"), IsEmpty());
  EXPECT_EQ(condition(), "pending");
  for (int minute = 0; minute < 10 && stated("u1").empty(); ++minute) pass(1min);
  EXPECT_THAT(stated("u1"), SizeIs(1));
  EXPECT_EQ(writes(), 6u);
  EXPECT_EQ(condition(), "written");
}

TEST_F(ClaimStatusesTest, OneClaimDoesNotHoldUpAnother) {
  fail_writes(1, Code::kUnavailable);
  prepare_one("u1");
  prepare_one("u2", "gpu-1");
  EXPECT_THAT(stated("u1"), IsEmpty());
  EXPECT_THAT(stated("u2"), SizeIs(1));
}

TEST_F(ClaimStatusesTest, OnlyTheNewestStateIsWritten) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  ClaimRecord claim = a_record("u1");
  claim.parts[0].devices[0].status_data = "{}";
  statuses.state(claim);
  cluster.pause();
  settle();  // the first write is under way
  claim.parts[0].devices[0].status_data = R"({"a":1})";
  statuses.state(claim);
  claim.parts[0].devices[0].status_data = R"({"a":2})";
  statuses.state(claim);
  cluster.resume();
  settle();
  ASSERT_THAT(stated("u1"), SizeIs(1));
  EXPECT_EQ(stated("u1").front().data, R"({"a":2})");
  EXPECT_EQ(writes(), 2u);
}

TEST_F(ClaimStatusesTest, AClaimThatIsUnpreparedDuringTheWriteEndsWithoutEntries) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  ClaimRecord claim = a_record("u1");
  claim.parts[0].devices[0].status_data = "{}";
  statuses.state(claim);
  cluster.pause();
  settle();
  statuses.withdraw(claim.key());
  cluster.resume();
  settle();
  EXPECT_THAT(stated("u1"), IsEmpty());
  EXPECT_EQ(condition(), "none");
}

TEST_F(ClaimStatusesTest, TheLedgerKnowsItForTheNextDaemon) {
  prepare_one("u1");
  const auto before = stated("u1");
  start();
  cluster.remove_claim("team", "claim-u1");
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  ClaimStatuses next(core, clock, cluster);
  next.state(*record("u1"));
  asio::cancellation_signal end;
  asio::co_spawn(core, next.run(), asio::bind_cancellation_slot(end.slot(), asio::detached));
  settle();
  EXPECT_EQ(stated("u1"), before);
  end.emit(asio::cancellation_type::terminal);
  settle();
}

TEST_F(ClaimStatusesTest, TheTimeOfAConditionOutlivesAReboot) {
  prepare_one("u1");
  const WallTime since = stated("u1").front().conditions.front().since;
  advance_at_rest(1h);
  boot_id = "boot-2";
  start();
  ASSERT_TRUE(prepare("u1"));
  settle();
  EXPECT_EQ(stated("u1").front().conditions.front().since, since);
  statement = ready(DeviceCondition::Status::kFalse);
  boot_id = "boot-3";
  start();
  ASSERT_TRUE(prepare("u1"));
  settle();
  EXPECT_EQ(stated("u1").front().conditions.front().since, now());
}

TEST_F(ClaimStatusesTest, ADeviceOfAResourceHasNoClaimToShowIt) {
  ClaimRecord held = a_record("gpu-0");
  held.driver = kResource;
  held.parts[0].devices[0].status_data = "{}";
  EXPECT_THAT(device_statuses(held), IsEmpty());
}

TEST_F(ClaimStatusesTest, ADeviceThatIsAllocatedTwiceHasOneEntry) {
  ClaimRecord claim = a_record("u1");
  claim.parts[0].devices[0].status_data = "{}";
  claim.parts[0].devices.push_back(claim.parts[0].devices[0]);
  EXPECT_THAT(device_statuses(claim), SizeIs(1));
}

}  // namespace
}  // namespace cardcage
