#include "host/claim/claim_preparer.h"

#include <gmock/gmock.h>

#include "tests/fakes/small_disk.h"
#include "tests/unit/claim/claim_world.h"
#include "tests/unit/ledger/sync_counter.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using ClaimPreparerTest = ClaimWorld;

TEST_F(ClaimPreparerTest, PreparesAClaimAndUndoesIt) {
  const auto devices = prepare_new("u1", {an_allocation("gpu-0", "main/small"), an_allocation("gpu-1", "other")});
  ASSERT_TRUE(devices) << text_of(devices);
  EXPECT_THAT(*devices,
              ElementsAre(PreparedDevice{{"main"}, "node", "gpu-0", {"cardcage.gpu.example.com/claim=u1-gpu-0"}, ""},
                          PreparedDevice{{"other"}, "node", "gpu-1", {"cardcage.gpu.example.com/claim=u1-gpu-1"}, ""}));
  EXPECT_EQ(cdi_text("u1"), R"({"cdiVersion":"0.3.0","kind":"cardcage.gpu.example.com/claim","devices":[)"
                            R"({"name":"u1-gpu-0","containerEdits":{"env":["FAKE_GPU_0=GPU-0"]}},)"
                            R"({"name":"u1-gpu-1","containerEdits":{"env":["FAKE_GPU_1=GPU-1"]}}]})"
                            "\n");
  EXPECT_EQ(record("u1")->phase, ClaimPhase::kPrepared);
  EXPECT_EQ(record("u1")->parts[0].state, "state of u1");
  EXPECT_EQ(record("u1")->parts[0].module_id, "com.example.fake");

  advance_at_rest(std::chrono::minutes(5));
  ASSERT_TRUE(unprepare("u1"));
  EXPECT_THAT(gpus->holds, IsEmpty());
  EXPECT_EQ(record("u1"), nullptr);
  EXPECT_FALSE(has_cdi_file("u1"));
  let_the_ledger_write();
  const auto history = run(ledger->history({}));
  ASSERT_THAT(*history, SizeIs(2));
  EXPECT_EQ(history->front().held(), std::chrono::minutes(5));
}

TEST_F(ClaimPreparerTest, TheModuleGetsAllItNeeds) {
  Claim claim = a_claim("u1", {an_allocation("gpu-0")});
  claim.allocations[0].share_id = "5b2c9f1e-0000-4000-8000-000000000001";
  claim.allocations[0].admin_access = true;
  claim.allocations[0].consumed_capacity["memory"] = Quantity{4, 9};
  claim.allocations.push_back({.request = "nic", .driver = "nic.example.com", .pool = "x", .device = "y"});
  claim.configs = {{ConfigSource::kClaim, {}, kDriver, R"({"mode":"fast"})"}};
  cluster.put_claim(claim);
  const auto devices = prepare("u1");
  ASSERT_TRUE(devices) << text_of(devices);
  ASSERT_THAT(*devices, SizeIs(1)) << "allocations of other drivers are left out";
  EXPECT_EQ(devices->front().share_id, claim.allocations[0].share_id);
  const ModuleClaim& heard = gpus->holds["u1"];
  EXPECT_EQ(heard.ref, claim.ref);
  ASSERT_THAT(heard.allocations, SizeIs(1));
  EXPECT_EQ(heard.allocations[0].device_id, "GPU-0");
  EXPECT_EQ(heard.allocations[0].share_id, claim.allocations[0].share_id);
  EXPECT_TRUE(heard.allocations[0].admin_access);
  EXPECT_EQ(heard.allocations[0].consumed_capacity, claim.allocations[0].consumed_capacity);
  ASSERT_THAT(heard.params, SizeIs(1));
  EXPECT_EQ(heard.params[0].json, R"({"mode":"fast"})");
  EXPECT_FALSE(heard.other_boot);
  EXPECT_EQ(heard.state, "");
}

TEST_F(ClaimPreparerTest, ASecondPrepareIsServedFromTheLedgerAndRestoresTheFile) {
  const auto first = prepare_new("u1", {an_allocation("gpu-0")});
  std::filesystem::remove_all(cdi.folder());
  cluster.remove_claim("team", "claim-u1");
  cluster.fail_next(FakeCluster::Verb::kGetClaim, 1, {Code::kUnavailable, "no route to host"});
  EXPECT_EQ(prepare("u1"), first) << "even while the API server is away";
  EXPECT_TRUE(has_cdi_file("u1"));
  EXPECT_EQ(gpus->count<PrepareCall>(), 1);
  EXPECT_EQ(cluster.count(FakeCluster::Verb::kGetClaim), 2u);
  start();
  EXPECT_EQ(prepare("u1"), first) << "and after a restart of the host";
  EXPECT_EQ(gpus->count<PrepareCall>(), 1);
}

TEST_F(ClaimPreparerTest, AfterARebootTheModuleIsCalledAgainWithItsState) {
  const auto first = prepare_new("u1", {an_allocation("gpu-0")});
  boot_id = "boot-2";
  std::filesystem::remove_all(cdi.folder());
  start();
  EXPECT_FALSE(has_cdi_file("u1")) << "a claim of an earlier boot is not recovered";
  EXPECT_EQ(prepare("u1"), first);
  EXPECT_EQ(gpus->count<PrepareCall>(), 2);
  EXPECT_TRUE(gpus->holds["u1"].other_boot);
  EXPECT_EQ(gpus->holds["u1"].state, "state of u1");
  EXPECT_TRUE(has_cdi_file("u1"));
  EXPECT_EQ(record("u1")->boot_id, "boot-2");
  ASSERT_TRUE(unprepare("u1"));
  EXPECT_EQ(run(ledger->history({}))->size(), 1u);
}

TEST_F(ClaimPreparerTest, AJournalOutlivesTheHostAndComesBackUntilTheClaimIsReleased) {
  std::vector<std::string> journals;
  gpus->touch = [&](std::string_view, const ModuleClaim& claim) { journals.push_back(claim.journal); };
  gpus->journal = "the driver was acme";
  gpus->fail<PrepareCall>({Code::kUnavailable, "the worker died"});
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  prepare("u1");
  start();
  EXPECT_EQ(record("u1")->parts[0].journal, "the driver was acme") << "although the prepare failed";
  gpus->journal = "";
  prepare("u1");
  start();
  EXPECT_EQ(record("u1")->phase, ClaimPhase::kPrepared);
  ASSERT_TRUE(unprepare("u1"));
  EXPECT_THAT(journals, ElementsAre("the driver was acme", "the driver was acme"));
  journals.clear();
  prepare_new("u2", {an_allocation("gpu-0")});
  EXPECT_THAT(journals, ElementsAre(""));
}

TEST_F(ClaimPreparerTest, AClaimFromAnEarlierBootCanBeUnprepared) {
  prepare_new("u1", {an_allocation("gpu-0")});
  boot_id = "boot-2";
  start();
  bool other_boot = false;
  gpus->touch = [&](std::string_view, const ModuleClaim& claim) { other_boot = claim.other_boot; };
  ASSERT_TRUE(unprepare("u1"));
  EXPECT_TRUE(other_boot);
  EXPECT_EQ(record("u1"), nullptr);
}

TEST_F(ClaimPreparerTest, UnprepareOfAnUnknownClaimIsOk) {
  EXPECT_TRUE(unprepare("never-seen"));
  EXPECT_THAT(gpus->calls, IsEmpty());
  EXPECT_THAT(*run(ledger->history({})), IsEmpty());
}

TEST_F(ClaimPreparerTest, ADeviceWithoutEditsStillGetsACdiDevice) {
  gpus->edits = [](const ModuleClaim&) {
    PreparedEdits edits;
    edits.claim.env.push_back({"ALL", "1"});
    return edits;
  };
  const auto devices = prepare_new("u1", {an_allocation("gpu-0")});
  ASSERT_TRUE(devices) << text_of(devices);
  EXPECT_EQ(cdi_text("u1"),
            R"({"cdiVersion":"0.3.0","kind":"cardcage.gpu.example.com/claim","containerEdits":{"env":["ALL=1"]},)"
            R"("devices":[{"name":"u1-gpu-0","containerEdits":{"env":["CARDCAGE_DEVICE_GPU_0=gpu.example.com"]}}]})"
            "\n");
}

TEST_F(ClaimPreparerTest, AUidThatIsAPathIsRefused) {
  const ClaimRef evil{"team", "claim", "../../etc/passwd"};
  EXPECT_THAT(text_of(run(preparer->prepare(evil, soon()))), HasSubstr("is not a UID"));
  EXPECT_THAT(text_of(run(preparer->unprepare(evil, soon()))), HasSubstr("is not a UID"));
}

TEST_F(ClaimPreparerTest, AnUnreachableApiServerIsReportedWithWhatHappensNext) {
  cluster.fail_next(FakeCluster::Verb::kGetClaim, 1, {Code::kUnavailable, "no route to host"});
  const auto refused = prepare("u1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_EQ(refused.error().message,
            "claim team/claim-u1: cannot read it: no route to host; the kubelet tries again by "
            "itself");
  EXPECT_EQ(prepare("u1").error().code, Code::kNotFound);
}

// -- modules that fail -----------------------------------------------------------------------------------------------

TEST_F(ClaimPreparerTest, AModuleThatRefusesIsNamedAndTheClaimStaysInDoubt) {
  gpus->fail<PrepareCall>({Code::kResourceExhausted, "no memory is left on it"});
  const auto refused = prepare_new("u1", {an_allocation("gpu-0")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (Error{Code::kResourceExhausted,
                                    "claim team/claim-u1: module 'gpus' cannot prepare device 'gpu-0': no memory is "
                                    "left on it"}));
  EXPECT_FALSE(has_cdi_file("u1"));
  EXPECT_EQ(record("u1")->phase, ClaimPhase::kPreparing);
  EXPECT_TRUE(prepare("u1"));
  gpus->fail<PrepareCall>({Code::kResourceExhausted, "again"});
  EXPECT_FALSE(prepare_new("u2", {an_allocation("gpu-1")}));
  EXPECT_TRUE(unprepare("u2"));
  EXPECT_EQ(gpus->count<UnprepareCall>(), 1) << "it may hold a device";
  EXPECT_EQ(record("u2"), nullptr);
}

TEST_F(ClaimPreparerTest, AnUnavailableModuleIsReported) {
  directory.stop_module("gpus");
  const auto refused = prepare_new("u1", {an_allocation("gpu-0")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_EQ(refused.error().message, "claim team/claim-u1: device 'gpu-0' of pool 'node': it is not running");
}

TEST_F(ClaimPreparerTest, APrepareWaitsForAModuleThatRestarts) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  directory.restart_module("gpus");
  const auto answer = begin(preparer->prepare(ref_of("u1"), soon()));
  settle();
  EXPECT_FALSE(answer->has_value());
  directory.start_module("gpus", gpus);
  ASSERT_TRUE(until([&] { return answer->has_value(); }));
  EXPECT_TRUE(**answer) << text_of(**answer);
}

TEST_F(ClaimPreparerTest, AnUnprepareWaitsForAModuleThatRestarts) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  directory.restart_module("gpus");
  const auto answer = begin(preparer->unprepare(ref_of("u1"), soon()));
  settle();
  EXPECT_FALSE(answer->has_value());
  directory.start_module("gpus", gpus);
  ASSERT_TRUE(until([&] { return answer->has_value(); }));
  EXPECT_TRUE(**answer) << text_of(**answer);
}

TEST_F(ClaimPreparerTest, AModuleThatDoesNotReturnIsReportedAtTheDeadline) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  directory.restart_module("gpus");
  const auto answer = begin(preparer->prepare(ref_of("u1"), soon()));
  settle();
  clock.advance(std::chrono::seconds(6));
  ASSERT_TRUE(until([&] { return answer->has_value(); }));
  EXPECT_EQ((*answer)->error().code, Code::kDeadlineExceeded);
  EXPECT_THAT((*answer)->error().message, HasSubstr("out of time while waiting for the start of its modules"));
  directory.start_module("gpus", gpus);
  settle();
}

TEST_F(ClaimPreparerTest, AQuiescedModuleReleasesClaimsAndPreparesNone) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  directory.quiesce_module("gpus");
  EXPECT_THAT(text_of(prepare_new("u2", {an_allocation("gpu-1")})), HasSubstr("it is quiesced"));
  EXPECT_TRUE(unprepare("u1"));
  EXPECT_EQ(gpus->count<UnprepareCall>(), 1);
}

TEST_F(ClaimPreparerTest, AQuiescedDeviceIsReleasedAndNotPrepared) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  directory.quiesce_device("gpu-0");
  directory.quiesce_device("gpu-1");
  const auto refused = prepare_new("u2", {an_allocation("gpu-1")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("device 'gpu-1' of pool 'node': it is quiesced"));
  EXPECT_TRUE(prepare_new("u3", {an_allocation("gpu-2")}));
  EXPECT_TRUE(unprepare("u1"));
}

TEST_F(ClaimPreparerTest, UnprepareNeverFakesSuccess) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  directory.stop_module("gpus");
  const auto refused = unprepare("u1");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("module 'gpus' cannot release device 'gpu-0': it is not running"));
  EXPECT_TRUE(has_cdi_file("u1"));
  EXPECT_EQ(record("u1")->phase, ClaimPhase::kUnpreparing);
  directory.add("gpus", gpus, "gpu", 100);
  gpus->fail<UnprepareCall>({Code::kFailedPrecondition, "a process still uses it"});
  EXPECT_THAT(text_of(unprepare("u1")), HasSubstr("a process still uses it"));
  EXPECT_TRUE(unprepare("u1"));
  EXPECT_EQ(record("u1"), nullptr);
}

TEST_F(ClaimPreparerTest, EachModuleOfADriverGetsItsOwnDevices) {
  const auto devices =
      prepare_new("u1", {an_allocation("gpu-0"), an_allocation("nic-1", "net"), an_allocation("gpu-2")});
  ASSERT_TRUE(devices) << text_of(devices);
  EXPECT_THAT(*devices, SizeIs(3));
  EXPECT_THAT(gpus->holds["u1"].allocations, SizeIs(2));
  EXPECT_THAT(nics->holds["u1"].allocations, SizeIs(1));
  ASSERT_TRUE(unprepare("u1"));
  EXPECT_THAT(gpus->holds, IsEmpty());
  EXPECT_THAT(nics->holds, IsEmpty());
}

TEST_F(ClaimPreparerTest, IfTheSecondModuleFailsTheFirstIsRolledBack) {
  nics->fail<PrepareCall>({Code::kInternal, "link is down"}, 2);
  EXPECT_THAT(text_of(prepare_new("u1", {an_allocation("gpu-0"), an_allocation("nic-1")})),
              HasSubstr("module 'nics' cannot prepare device 'nic-1': link is down"));
  EXPECT_THAT(gpus->holds, IsEmpty());
  EXPECT_EQ(record("u1")->parts[0].state, "");
  gpus->fail<UnprepareCall>({Code::kInternal, "busy"});
  EXPECT_THAT(text_of(prepare("u1")), HasSubstr("link is down"));
  start();
  EXPECT_EQ(record("u1")->parts[0].state, "state of u1") << "a part that could not be rolled back keeps its state";
  EXPECT_TRUE(prepare("u1"));
  ASSERT_TRUE(unprepare("u1"));
}

TEST_F(ClaimPreparerTest, AModuleThatCannotReleaseDoesNotStopTheOthers) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0"), an_allocation("nic-1")}));
  nics->fail<UnprepareCall>({Code::kInternal, "stuck"});
  EXPECT_THAT(text_of(unprepare("u1")), HasSubstr("module 'nics' cannot release device 'nic-1': stuck"));
  EXPECT_THAT(gpus->holds, IsEmpty());
  EXPECT_TRUE(unprepare("u1"));
}

TEST_F(ClaimPreparerTest, AReallocatedClaimReleasesItsOldDevicesFirst) {
  gpus->fail<PrepareCall>({Code::kInternal, "cold"});
  ASSERT_FALSE(prepare_new("u1", {an_allocation("gpu-0")}));
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-5")}));
  EXPECT_EQ(gpus->count<UnprepareCall>(), 1);
  EXPECT_TRUE(prepare_new("u2", {an_allocation("gpu-0")})) << "the old device is free";
}

// The scheduler may reallocate a claim while the kubelet is away, so that the kubelet never unprepares it.
TEST_F(ClaimPreparerTest, APreparedClaimThatWasAllocatedAnewGetsItsNewDevices) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  advance_at_rest(std::chrono::minutes(5));
  const auto anew = prepare_new("u1", {an_allocation("gpu-5")});
  ASSERT_TRUE(anew) << text_of(anew);
  EXPECT_THAT(anew->at(0).cdi_device_ids, ElementsAre("cardcage.gpu.example.com/claim=u1-gpu-5"));
  EXPECT_EQ(gpus->holds["u1"].allocations[0].device_id, "GPU-5");
  EXPECT_EQ(gpus->count<UnprepareCall>(), 1);
  let_the_ledger_write();
  const auto history = run(ledger->history({}));
  ASSERT_THAT(*history, SizeIs(1));
  EXPECT_EQ(history->front().device, "gpu-0");
  EXPECT_EQ(history->front().held(), std::chrono::minutes(5));
  EXPECT_TRUE(prepare_new("u2", {an_allocation("gpu-0")})) << "the old device is free";
}

TEST_F(ClaimPreparerTest, ARepeatedPrepareDoesNotWaitLongForTheApiServer) {
  const auto first = prepare_new("u1", {an_allocation("gpu-0")});
  cluster.pause();
  EXPECT_EQ(run(preparer->prepare(ref_of("u1"), clock.now() + std::chrono::seconds(40))), first);
}

TEST_F(ClaimPreparerTest, ADeviceThatIsTakenWhileOldOnesAreReleasedIsRefused) {
  gpus->fail<PrepareCall>({Code::kInternal, "cold"});
  ASSERT_FALSE(prepare_new("u1", {an_allocation("gpu-0")}));
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-5")}));
  gpus->block<UnprepareCall>();
  const auto late = begin(preparer->prepare(ref_of("u1"), soon()));
  ASSERT_TRUE(until([&] { return gpus->count<UnprepareCall>() == 1; }));
  ASSERT_TRUE(prepare_new("u2", {an_allocation("gpu-5")}));
  gpus->unblock<UnprepareCall>();
  ASSERT_TRUE(until([&] { return late->has_value(); }));
  ASSERT_FALSE(**late);
  EXPECT_EQ((*late)->error().code, Code::kAlreadyExists);
  EXPECT_THAT((*late)->error().message, HasSubstr("claim team/claim-u2"));
}

// -- concurrent calls ------------------------------------------------------------------------------------------------

TEST_F(ClaimPreparerTest, ASecondPrepareSharesTheResultOfTheFirst) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  gpus->block<PrepareCall>();
  const auto one = begin(preparer->prepare(ref_of("u1"), soon()));
  ASSERT_TRUE(until([&] { return gpus->count<PrepareCall>() == 1; }));
  const auto two = begin(preparer->prepare(ref_of("u1"), soon()));
  settle();
  EXPECT_FALSE(two->has_value());
  gpus->unblock<PrepareCall>();
  ASSERT_TRUE(until([&] { return one->has_value() && two->has_value(); }));
  EXPECT_TRUE((*one)->has_value());
  EXPECT_EQ(**one, **two);
  EXPECT_EQ(gpus->count<PrepareCall>(), 1);
}

TEST_F(ClaimPreparerTest, PrepareAndUnprepareOfOneClaimTakeTurns) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  gpus->block<PrepareCall>();
  const auto first = begin(preparer->prepare(ref_of("u1"), soon()));
  ASSERT_TRUE(until([&] { return gpus->count<PrepareCall>() == 1; }));
  const auto second = begin(preparer->unprepare(ref_of("u1"), soon()));
  settle();
  EXPECT_EQ(gpus->count<UnprepareCall>(), 0);
  gpus->unblock<PrepareCall>();
  gpus->block<UnprepareCall>();
  ASSERT_TRUE(until([&] { return gpus->count<UnprepareCall>() == 1; }));
  const auto third = begin(preparer->prepare(ref_of("u1"), soon()));
  settle();
  EXPECT_EQ(gpus->count<PrepareCall>(), 1);
  gpus->unblock<UnprepareCall>();
  ASSERT_TRUE(until([&] { return second->has_value() && third->has_value(); }));
  EXPECT_TRUE(**first);
  EXPECT_TRUE(**second);
  EXPECT_TRUE(**third);
  EXPECT_EQ(gpus->count<PrepareCall>(), 2);
  EXPECT_EQ(record("u1")->phase, ClaimPhase::kPrepared);
}

TEST_F(ClaimPreparerTest, AClaimThatItsModuleCannotReleaseCanBeDropped) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  directory.drop_module("gpus");
  ASSERT_FALSE(unprepare("u1"));
  ASSERT_TRUE(record("u1"));
  EXPECT_TRUE(run(preparer->drop(ref_of("u1"), soon())));
  EXPECT_FALSE(record("u1"));
  EXPECT_FALSE(has_cdi_file("u1"));
  EXPECT_EQ(gpus->count<UnprepareCall>(), 0);
  EXPECT_TRUE(run(preparer->drop(ref_of("u1"), soon()))) << "again";
}

TEST_F(ClaimPreparerTest, OneStuckClaimDoesNotHoldTheOthers) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  gpus->block<PrepareCall>();
  const auto stuck = begin(preparer->prepare(ref_of("u1"), soon()));
  ASSERT_TRUE(until([&] { return gpus->count<PrepareCall>() == 1; }));
  EXPECT_TRUE(prepare_new("u2", {an_allocation("nic-1")}));
  gpus->unblock<PrepareCall>();
  ASSERT_TRUE(until([&] { return stuck->has_value(); }));
}

TEST_F(ClaimPreparerTest, SixtyFourClaimsShareFewTransactions) {
  std::vector<std::shared_ptr<std::optional<Devices>>> answers;
  for (int i = 0; i < 64; ++i) {
    cluster.put_claim(a_claim(fmt::format("u{}", i), {an_allocation(fmt::format("gpu-{}", i))}));
    answers.push_back(begin(preparer->prepare(ref_of(fmt::format("u{}", i)), soon())));
  }
  ASSERT_TRUE(until([&] { return std::ranges::all_of(answers, [](const auto& one) { return one->has_value(); }); }));
  for (const auto& one : answers) EXPECT_TRUE(**one);
  EXPECT_LE(ledger->transactions(), 12u);
  EXPECT_THAT(ledger->claims(), SizeIs(64));
}

TEST_F(ClaimPreparerTest, NoCallWaitsForASyncAndEachIsSyncedSoon) {
  const SyncCounter counter;
  start();
  ASSERT_TRUE(prepare_new("warm-up", {an_allocation("gpu-0")}));
  let_the_ledger_write();
  int before = counter.syncs();
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-1")}));
  EXPECT_EQ(counter.syncs(), before);
  let_the_ledger_write();
  EXPECT_EQ(counter.syncs(), before + 1);
  before = counter.syncs();
  ASSERT_TRUE(unprepare("u1"));
  EXPECT_EQ(counter.syncs(), before);
  let_the_ledger_write();
  EXPECT_EQ(counter.syncs(), before + 1);
  ledger.reset();
}

// -- disks that fail -------------------------------------------------------------------------------------------------

TEST_F(ClaimPreparerTest, AFullDiskFailsNoClaim) {
  SmallDisk disk(folder / "state", "size=8m");
  if (!disk.works()) GTEST_SKIP() << "needs to be able to mount";
  start();
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  let_the_ledger_write();
  disk.fill();
  // A state blob exceeds the free space inside the log.
  gpus->edits = [](const ModuleClaim&) {
    PreparedEdits edits;
    edits.state.assign(64 << 10, 's');
    return edits;
  };
  for (int i = 1; i < 12; ++i)
    EXPECT_TRUE(prepare_new(fmt::format("full-{}", i), {an_allocation(fmt::format("gpu-{}", i))}));
  EXPECT_TRUE(unprepare("u1"));
  let_the_ledger_write();
  ASSERT_NE(ledger->last_error(), std::nullopt);
  EXPECT_THAT(ledger->last_error()->message, HasSubstr("free space"));
  start();
  EXPECT_THAT(ledger->claims(), SizeIs(11)) << "they survive the host, though not the node";
  disk.free();
  start();
  let_the_ledger_write();
  EXPECT_EQ(ledger->last_error(), std::nullopt);
  EXPECT_THAT(ledger->claims(), SizeIs(11));
  preparer.reset();
  ledger.reset();
}

TEST_F(ClaimPreparerTest, AReadOnlyCdiFolderFailsTheClaimUntilItIsWritable) {
  auto read_only = std::make_unique<ReadOnlyFolder>(folder / "cdi");
  if (!read_only->works()) GTEST_SKIP() << "needs to be able to mount or not to be root";
  const auto refused = prepare_new("u1", {an_allocation("gpu-0")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("claim team/claim-u1: "), HasSubstr("mount the CDI folder")));
  read_only.reset();
  EXPECT_TRUE(prepare("u1"));
  EXPECT_EQ(gpus->count<PrepareCall>(), 1);
  EXPECT_TRUE(has_cdi_file("u1"));
}

}  // namespace
}  // namespace cardcage
