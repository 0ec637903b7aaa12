#include "host/claim/claim_preparer.h"

#include <gmock/gmock.h>

#include "host/core/file.h"
#include "tests/fakes/small_disk.h"
#include "tests/unit/claim/claim_world.h"
#include "tests/unit/claim/sync_counter.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ClaimPreparerTest : public ClaimWorld {
 protected:
  template <class T>
  static std::string text_of(const Result<T>& result) {
    return result ? "no error" : result.error().message;
  }
  void lose_ledger() {
    preparer.reset();
    ledger.reset();
    for (const char* name : {"ledger.db", "ledger.db-wal"}) std::filesystem::remove(folder / "state" / name);
  }
  // Starts a call; its answer lands in the returned place.
  template <class T>
  std::shared_ptr<std::optional<T>> begin(Task<T> task) {
    auto answer = std::make_shared<std::optional<T>>();
    spawn(core, [](Task<T> inner, std::shared_ptr<std::optional<T>> place) -> Task<void> {
      *place = co_await std::move(inner);
    }(std::move(task), answer));
    return answer;
  }
  // Runs the core until `done`, at most a few seconds.
  template <class Done>
  bool until(Done done) {
    const Instant end = soon();
    core.restart();
    while (!done() && std::chrono::steady_clock::now() < end) core.run_one_until(end);
    return done();
  }
  std::string cdi_text(const std::string& uid) {
    return read_file(cdi.folder() / claim_file_name(kDriver, uid), 1 << 20).value();
  }
};

TEST_F(ClaimPreparerTest, PreparesAClaimAndUndoesIt) {
  const auto devices = prepare_new("u1", {an_allocation("gpu-0", "main/small"), an_allocation("gpu-1", "other")});
  ASSERT_TRUE(devices) << text_of(devices);
  EXPECT_THAT(*devices,
              ElementsAre(PreparedDevice{{"main"}, "node", "gpu-0", {"cardcage.gpu.example.com/claim=u1-gpu-0"}, ""},
                          PreparedDevice{{"other"}, "node", "gpu-1", {"cardcage.gpu.example.com/claim=u1-gpu-1"}, ""}));
  EXPECT_EQ(cdi_text("u1"), R"({"cdiVersion":"0.3.0","kind":"cardcage.gpu.example.com/claim","devices":[)"
                            R"({"name":"u1-gpu-0","containerEdits":{"env":["FAKE_0=GPU-0"]}},)"
                            R"({"name":"u1-gpu-1","containerEdits":{"env":["FAKE_1=GPU-1"]}}]})"
                            "\n");
  EXPECT_EQ(record("u1")->phase, ClaimPhase::kPrepared);
  EXPECT_EQ(record("u1")->parts[0].state, "state of u1");

  clock.advance(std::chrono::minutes(5));
  ASSERT_TRUE(unprepare("u1"));
  EXPECT_THAT(gpus->holds, IsEmpty());
  EXPECT_EQ(record("u1"), nullptr);
  EXPECT_FALSE(has_cdi_file("u1"));
  const auto history = run(ledger->history({}));
  ASSERT_THAT(*history, SizeIs(2));
  EXPECT_EQ(history->front().held(), std::chrono::minutes(5));
}

TEST_F(ClaimPreparerTest, TheModuleHearsWhatItNeeds) {
  Claim claim = a_claim("u1", {an_allocation("gpu-0")});
  claim.allocations[0].share_id = "5b2c9f1e-0000-4000-8000-000000000001";
  claim.allocations[0].admin_access = true;
  claim.allocations[0].consumed_capacity["memory"] = Quantity{4, 9};
  claim.allocations.push_back({.request = "nic", .driver = "nic.example.com", .pool = "x", .device = "y"});
  claim.configs = {{ConfigSource::kClaim, {}, kDriver, R"({"mode":"fast"})"}};
  cluster.put_claim(claim);
  const auto devices = prepare("u1");
  ASSERT_TRUE(devices) << text_of(devices);
  ASSERT_THAT(*devices, SizeIs(1)) << "results of other drivers are theirs";
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

TEST_F(ClaimPreparerTest, ASecondPrepareAnswersFromTheLedgerAndWritesTheFileAgain) {
  const auto first = prepare_new("u1", {an_allocation("gpu-0")});
  std::filesystem::remove_all(cdi.folder());
  cluster.remove_claim("team", "claim-u1");
  cluster.fail_next(FakeCluster::Verb::kGetClaim, 1, {Code::kUnavailable, "no route to host"});
  EXPECT_EQ(prepare("u1"), first) << "also while the API server is away";
  EXPECT_TRUE(has_cdi_file("u1"));
  EXPECT_EQ(gpus->count(Verb::kPrepare), 1);
  EXPECT_EQ(cluster.count(FakeCluster::Verb::kGetClaim), 1u);
  start();
  EXPECT_EQ(prepare("u1"), first) << "and after a restart of the host";
  EXPECT_EQ(gpus->count(Verb::kPrepare), 1);
}

TEST_F(ClaimPreparerTest, AfterARebootTheModuleIsAskedAgainWithItsStateAndTheNews) {
  const auto first = prepare_new("u1", {an_allocation("gpu-0")});
  boot_id = "boot-2";
  std::filesystem::remove_all(cdi.folder());
  start();
  EXPECT_FALSE(has_cdi_file("u1")) << "nothing of an earlier boot is recovered";
  EXPECT_EQ(prepare("u1"), first);
  EXPECT_EQ(gpus->count(Verb::kPrepare), 2);
  EXPECT_TRUE(gpus->holds["u1"].other_boot);
  EXPECT_EQ(gpus->holds["u1"].state, "state of u1");
  EXPECT_TRUE(has_cdi_file("u1"));
  EXPECT_EQ(record("u1")->boot_id, "boot-2");
  ASSERT_TRUE(unprepare("u1"));
  EXPECT_EQ(run(ledger->history({}))->size(), 1u);
}

TEST_F(ClaimPreparerTest, AClaimOfAnEarlierBootCanBeUnpreparedToo) {
  prepare_new("u1", {an_allocation("gpu-0")});
  boot_id = "boot-2";
  start();
  bool other_boot = false;
  gpus->touch = [&](Verb, const ModuleClaim& claim) { other_boot = claim.other_boot; };
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

// -- claims that cannot be prepared ----------------------------------------------------------------------------------

struct BadClaim {
  const char* name;
  void (*spoil)(Claim&);
  Code code;
  const char* text;
};
class BadClaimTest : public ClaimPreparerTest, public ::testing::WithParamInterface<BadClaim> {};

INSTANTIATE_TEST_SUITE_P(
    Each, BadClaimTest,
    ::testing::Values(
        BadClaim{"Replaced", [](Claim& c) { c.ref.uid = "u9"; }, Code::kFailedPrecondition, "it got replaced"},
        BadClaim{"NotAllocated", [](Claim& c) { c.allocated = false; }, Code::kFailedPrecondition, "not allocated"},
        BadClaim{"OfAnotherDriver", [](Claim& c) { c.allocations[0].driver = "x.y"; }, Code::kNotFound,
                 "none of its devices is of driver 'gpu.example.com'"},
        BadClaim{"WithoutDevices", [](Claim& c) { c.allocations.clear(); }, Code::kNotFound, "none of its devices"},
        BadClaim{"UnknownDevice", [](Claim& c) { c.allocations[0].device = "gpu-x"; }, Code::kNotFound,
                 "device 'gpu-x' of pool 'node': no module reports it"},
        BadClaim{"UnknownPool", [](Claim& c) { c.allocations[0].pool = "moon"; }, Code::kNotFound,
                 "device 'gpu-0' of pool 'moon'"},
        BadClaim{"DeviceTwice", [](Claim& c) { c.allocations.push_back(c.allocations[0]); }, Code::kFailedPrecondition,
                 "allocated twice"},
        BadClaim{"ShareThatIsAPath", [](Claim& c) { c.allocations[0].share_id = "../../x"; }, Code::kInvalidArgument,
                 "makes no CDI name"},
        BadClaim{"MalformedParameters", [](Claim& c) { c.configs = {{ConfigSource::kClaim, {}, kDriver, "{\"a\":"}}; },
                 Code::kInvalidArgument, "configuration of the claim: parameters are not JSON"},
        BadClaim{"ParametersThatAreNoObject",
                 [](Claim& c) { c.configs = {{ConfigSource::kClass, {}, kDriver, "[1]"}}; }, Code::kInvalidArgument,
                 "configuration of the device class"},
        BadClaim{"OversizedParameters",
                 [](Claim& c) {
                   c.configs = {{ConfigSource::kClaim, {}, kDriver, "{\"a\":\"" + std::string(11'000, 'x') + "\"}"}};
                 },
                 Code::kInvalidArgument, "at most 10240 are allowed"},
        BadClaim{"ConfigurationOfANewType", [](Claim& c) { c.configs = {{ConfigSource::kClass, {}, "", ""}}; },
                 Code::kInvalidArgument, "a type that this cardcage does not know"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST_P(BadClaimTest, IsRefusedBeforeAnythingIsTouched) {
  Claim claim = a_claim("u1", {an_allocation("gpu-0")});
  GetParam().spoil(claim);
  cluster.put_claim(claim);
  const auto refused = prepare("u1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, GetParam().code);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("claim team/claim-u1: "), HasSubstr(GetParam().text)));
  EXPECT_THAT(gpus->calls, IsEmpty());
  EXPECT_EQ(record("u1"), nullptr);
  EXPECT_FALSE(has_cdi_file("u1"));
  EXPECT_TRUE(unprepare("u1"));
}

TEST_F(ClaimPreparerTest, AUidThatIsAPathIsRefused) {
  const ClaimRef evil{"team", "claim", "../../etc/passwd"};
  EXPECT_THAT(text_of(run(preparer->prepare(evil, soon()))), HasSubstr("is not a UID"));
  EXPECT_THAT(text_of(run(preparer->unprepare(evil, soon()))), HasSubstr("is not a UID"));
}

TEST_F(ClaimPreparerTest, AnUnreachableApiServerIsNamedWithWhatHappensNext) {
  cluster.fail_next(FakeCluster::Verb::kGetClaim, 1, {Code::kUnavailable, "no route to host"});
  const auto refused = prepare("u1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_EQ(refused.error().message,
            "claim team/claim-u1: cannot read it from the API server: no route to host; the kubelet tries again by "
            "itself");
  EXPECT_EQ(prepare("u1").error().code, Code::kNotFound);
}

// -- one device for many ---------------------------------------------------------------------------------------------

TEST_F(ClaimPreparerTest, ADeviceThatAnotherClaimHoldsIsRefusedAndTheHolderNamed) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  const auto refused = prepare_new("u2", {an_allocation("gpu-0")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
  EXPECT_THAT(refused.error().message,
              HasSubstr("device 'gpu-0' of pool 'node' is prepared for claim team/claim-u1 (UID u1)"));
  ASSERT_TRUE(unprepare("u1"));
  EXPECT_TRUE(prepare("u2"));
}

TEST_F(ClaimPreparerTest, OfTwoClaimsThatComeTogetherOneGetsTheDevice) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  cluster.put_claim(a_claim("u2", {an_allocation("gpu-0")}));
  const auto one = begin(preparer->prepare(ref_of("u1"), soon()));
  const auto two = begin(preparer->prepare(ref_of("u2"), soon()));
  ASSERT_TRUE(until([&] { return one->has_value() && two->has_value(); }));
  EXPECT_NE((*one)->has_value(), (*two)->has_value());
  EXPECT_THAT(gpus->holds, SizeIs(1));
}

TEST_F(ClaimPreparerTest, SharesAndAdministrationLiveSideBySide) {
  const auto share = [](const std::string& id) {
    Allocation allocation = an_allocation("gpu-0");
    allocation.share_id = id;
    return allocation;
  };
  Allocation admin = an_allocation("gpu-0", "watch");
  admin.admin_access = true;
  ASSERT_TRUE(prepare_new("u1", {share("share-a"), share("share-b")}));
  EXPECT_TRUE(prepare_new("u2", {share("share-c")}));
  EXPECT_FALSE(prepare_new("u3", {share("share-a")})) << "a share is for one claim";
  EXPECT_FALSE(prepare_new("u4", {an_allocation("gpu-0")})) << "the whole device is not free";
  const auto watching = prepare_new("u5", {admin, admin});
  ASSERT_TRUE(watching) << text_of(watching);
  EXPECT_THAT(watching->at(0).cdi_device_ids, ElementsAre("cardcage.gpu.example.com/claim=u5-gpu-0"));
  EXPECT_THAT(watching->at(1).cdi_device_ids, ElementsAre("cardcage.gpu.example.com/claim=u5-gpu-0_2"));
  ASSERT_TRUE(prepare_new("u6", {[] {
                            Allocation watch = an_allocation("gpu-1");
                            watch.admin_access = true;
                            return watch;
                          }()}));
  EXPECT_TRUE(prepare_new("u7", {an_allocation("gpu-1")})) << "who watches does not hold";
}

// -- modules that fail -----------------------------------------------------------------------------------------------

TEST_F(ClaimPreparerTest, AModuleThatRefusesIsNamedAndTheClaimStaysInDoubt) {
  gpus->fail(Verb::kPrepare, {Code::kResourceExhausted, "no memory is left on it"});
  const auto refused = prepare_new("u1", {an_allocation("gpu-0")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (Error{Code::kResourceExhausted,
                                    "claim team/claim-u1: module 'gpus' cannot prepare device 'gpu-0': no memory is "
                                    "left on it"}));
  EXPECT_FALSE(has_cdi_file("u1"));
  EXPECT_EQ(record("u1")->phase, ClaimPhase::kPreparing);
  EXPECT_TRUE(prepare("u1"));
  gpus->fail(Verb::kPrepare, {Code::kResourceExhausted, "again"});
  EXPECT_FALSE(prepare_new("u2", {an_allocation("gpu-1")}));
  EXPECT_TRUE(unprepare("u2"));
  EXPECT_EQ(gpus->count(Verb::kUnprepare), 1) << "it may hold something";
  EXPECT_EQ(record("u2"), nullptr);
}

TEST_F(ClaimPreparerTest, AModuleThatIsAwayIsNamedWithWhatHappensNext) {
  directory.lose_module("gpus");
  const auto refused = prepare_new("u1", {an_allocation("gpu-0")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_EQ(refused.error().message,
            "claim team/claim-u1: module 'gpus' cannot prepare device 'gpu-0': it is not running; the kubelet tries "
            "again by itself, 'cagectl modules' shows what the module waits for");
}

TEST_F(ClaimPreparerTest, UnprepareNeverFakesSuccess) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  directory.lose_module("gpus");
  const auto refused = unprepare("u1");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("module 'gpus' cannot release device 'gpu-0': it is not running"));
  EXPECT_TRUE(has_cdi_file("u1"));
  EXPECT_EQ(record("u1")->phase, ClaimPhase::kUnpreparing);
  directory.add("gpus", gpus, "gpu", 100);
  gpus->fail(Verb::kUnprepare, {Code::kFailedPrecondition, "a process still uses it"});
  EXPECT_THAT(text_of(unprepare("u1")), HasSubstr("a process still uses it"));
  EXPECT_TRUE(unprepare("u1"));
  EXPECT_EQ(record("u1"), nullptr);
}

TEST_F(ClaimPreparerTest, ADriverOfTwoModulesAsksEachForItsOwn) {
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

TEST_F(ClaimPreparerTest, WhenTheSecondModuleFailsTheFirstIsUndone) {
  nics->fail(Verb::kPrepare, {Code::kInternal, "link is down"}, 2);
  EXPECT_THAT(text_of(prepare_new("u1", {an_allocation("gpu-0"), an_allocation("nic-1")})),
              HasSubstr("module 'nics' cannot prepare device 'nic-1': link is down"));
  EXPECT_THAT(gpus->holds, IsEmpty());
  EXPECT_EQ(record("u1")->parts[0].state, "");
  gpus->fail(Verb::kUnprepare, {Code::kInternal, "busy"});
  EXPECT_THAT(text_of(prepare("u1")), HasSubstr("link is down"));
  start();
  EXPECT_EQ(record("u1")->parts[0].state, "state of u1") << "what could not be undone is not forgotten";
  EXPECT_TRUE(prepare("u1"));
  ASSERT_TRUE(unprepare("u1"));
}

TEST_F(ClaimPreparerTest, OneModuleThatCannotReleaseDoesNotKeepTheOther) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0"), an_allocation("nic-1")}));
  nics->fail(Verb::kUnprepare, {Code::kInternal, "stuck"});
  EXPECT_THAT(text_of(unprepare("u1")), HasSubstr("module 'nics' cannot release device 'nic-1': stuck"));
  EXPECT_THAT(gpus->holds, IsEmpty());
  EXPECT_TRUE(unprepare("u1"));
}

TEST_F(ClaimPreparerTest, AClaimAllocatedAnewLetsGoOfTheOldDevicesFirst) {
  gpus->fail(Verb::kPrepare, {Code::kInternal, "cold"});
  ASSERT_FALSE(prepare_new("u1", {an_allocation("gpu-0")}));
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-5")}));
  EXPECT_EQ(gpus->count(Verb::kUnprepare), 1);
  EXPECT_TRUE(prepare_new("u2", {an_allocation("gpu-0")})) << "the old device is free";
}

// -- calls that meet -------------------------------------------------------------------------------------------------

TEST_F(ClaimPreparerTest, ASecondPrepareWaitsAndGetsTheAnswerOfTheFirst) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  gpus->block(Verb::kPrepare);
  const auto one = begin(preparer->prepare(ref_of("u1"), soon()));
  ASSERT_TRUE(until([&] { return gpus->count(Verb::kPrepare) == 1; }));
  const auto two = begin(preparer->prepare(ref_of("u1"), soon()));
  settle();
  EXPECT_FALSE(two->has_value());
  gpus->unblock(Verb::kPrepare);
  ASSERT_TRUE(until([&] { return one->has_value() && two->has_value(); }));
  EXPECT_TRUE((*one)->has_value());
  EXPECT_EQ(**one, **two);
  EXPECT_EQ(gpus->count(Verb::kPrepare), 1);
}

TEST_F(ClaimPreparerTest, PrepareAndUnprepareOfOneClaimTakeTurns) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  gpus->block(Verb::kPrepare);
  const auto first = begin(preparer->prepare(ref_of("u1"), soon()));
  ASSERT_TRUE(until([&] { return gpus->count(Verb::kPrepare) == 1; }));
  const auto second = begin(preparer->unprepare(ref_of("u1"), soon()));
  settle();
  EXPECT_EQ(gpus->count(Verb::kUnprepare), 0);
  gpus->unblock(Verb::kPrepare);
  gpus->block(Verb::kUnprepare);
  ASSERT_TRUE(until([&] { return gpus->count(Verb::kUnprepare) == 1; }));
  const auto third = begin(preparer->prepare(ref_of("u1"), soon()));
  settle();
  EXPECT_EQ(gpus->count(Verb::kPrepare), 1);
  gpus->unblock(Verb::kUnprepare);
  ASSERT_TRUE(until([&] { return second->has_value() && third->has_value(); }));
  EXPECT_TRUE(**first);
  EXPECT_TRUE(**second);
  EXPECT_TRUE(**third);
  EXPECT_EQ(gpus->count(Verb::kPrepare), 2);
  EXPECT_EQ(record("u1")->phase, ClaimPhase::kPrepared);
}

TEST_F(ClaimPreparerTest, WorkGoesOnAfterTheDeadlineAndTheNextTryFindsItsResult) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  gpus->block(Verb::kPrepare);
  const auto late =
      run(preparer->prepare(ref_of("u1"), std::chrono::steady_clock::now() + std::chrono::milliseconds(20)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(late.error().message, HasSubstr("claim team/claim-u1: out of time while waiting for module 'gpus' to "
                                              "prepare device 'gpu-0'"));
  const auto again = begin(preparer->prepare(ref_of("u1"), soon()));
  settle();
  gpus->unblock(Verb::kPrepare);
  ASSERT_TRUE(until([&] { return again->has_value(); }));
  EXPECT_TRUE(**again);
  EXPECT_TRUE(prepare("u1"));
  EXPECT_EQ(gpus->count(Verb::kPrepare), 1) << "the module is not called twice";
}

TEST_F(ClaimPreparerTest, OneStuckClaimDoesNotHoldTheOthers) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  gpus->block(Verb::kPrepare);
  const auto stuck = begin(preparer->prepare(ref_of("u1"), soon()));
  ASSERT_TRUE(until([&] { return gpus->count(Verb::kPrepare) == 1; }));
  EXPECT_TRUE(prepare_new("u2", {an_allocation("nic-1")}));
  gpus->unblock(Verb::kPrepare);
  ASSERT_TRUE(until([&] { return stuck->has_value(); }));
}

TEST_F(ClaimPreparerTest, SixtyFourClaimsGoTogetherInFewTransactions) {
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

TEST_F(ClaimPreparerTest, APrepareSyncsOnceAndSoDoesAnUnprepare) {
  const SyncCounter counter;
  start();
  ASSERT_TRUE(prepare_new("warm-up", {an_allocation("gpu-0")}));
  int before = counter.syncs();
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-1")}));
  EXPECT_EQ(counter.syncs(), before + 1);
  before = counter.syncs();
  ASSERT_TRUE(unprepare("u1"));
  EXPECT_EQ(counter.syncs(), before + 1);
  ledger.reset();
}

// -- disks that fail -------------------------------------------------------------------------------------------------

TEST_F(ClaimPreparerTest, AFullLedgerDiskFailsTheClaimAndHealsWithSpace) {
  SmallDisk disk(folder / "state", "size=8m");
  if (!disk.works()) GTEST_SKIP() << "needs to be able to mount";
  start();
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  disk.fill();
  // The log has some free space of its own: a state blob is larger than that.
  gpus->edits = [](const ModuleClaim&) {
    PreparedEdits edits;
    edits.state.assign(64 << 10, 's');
    return edits;
  };
  int refused = 0;
  for (int i = 1; i < 12; ++i) {
    const auto answer = prepare_new(fmt::format("full-{}", i), {an_allocation(fmt::format("gpu-{}", i))});
    if (answer) continue;
    ++refused;
    EXPECT_EQ(answer.error().code, Code::kResourceExhausted);
    EXPECT_THAT(answer.error().message, AllOf(HasSubstr("claim team/claim-full-"), HasSubstr("free space")));
    const auto left = record(fmt::format("full-{}", i));
    EXPECT_TRUE(!left || left->phase == ClaimPhase::kPreparing);
  }
  EXPECT_GT(refused, 0);
  disk.free();
  for (int i = 1; i < 12; ++i) EXPECT_TRUE(prepare(fmt::format("full-{}", i)));
  start();
  EXPECT_THAT(ledger->claims(), SizeIs(12));
  preparer.reset();
  ledger.reset();
}

TEST_F(ClaimPreparerTest, AReadOnlyCdiFolderFailsTheClaimAndHeals) {
  auto read_only = std::make_unique<ReadOnlyFolder>(folder / "cdi");
  if (!read_only->works()) GTEST_SKIP() << "needs to be able to mount or not to be root";
  const auto refused = prepare_new("u1", {an_allocation("gpu-0")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("claim team/claim-u1: "), HasSubstr("mount the CDI folder")));
  read_only.reset();
  EXPECT_TRUE(prepare("u1"));
  EXPECT_EQ(gpus->count(Verb::kPrepare), 1);
  EXPECT_TRUE(has_cdi_file("u1"));
}

// -- starts ----------------------------------------------------------------------------------------------------------

TEST_F(ClaimPreparerTest, AStartRecoversFilesAndTellsModulesWhatLives) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0"), an_allocation("nic-0")}));
  ASSERT_TRUE(prepare_new("u2", {an_allocation("gpu-1")}));
  std::filesystem::remove(cdi.folder() / claim_file_name(kDriver, "u1"));
  ASSERT_TRUE(cdi.write(kDriver, "orphan", cdi_spec(a_record("orphan"))));
  start();
  EXPECT_TRUE(has_cdi_file("u1"));
  EXPECT_TRUE(has_cdi_file("u2"));
  EXPECT_FALSE(has_cdi_file("orphan"));
  const auto live = live_claims(*ledger, directory, "gpus");
  ASSERT_THAT(live, SizeIs(2));
  EXPECT_EQ(live[0].ref, ref_of("u1"));
  EXPECT_EQ(live[0].state, "state of u1");
  EXPECT_THAT(live[0].allocations, SizeIs(1));
  EXPECT_THAT(live_claims(*ledger, directory, "nics"), SizeIs(1));
  EXPECT_THAT(live_claims(*ledger, directory, "other"), IsEmpty());
}

TEST_F(ClaimPreparerTest, AfterTheLossOfTheLedgerClaimsAreKnownByTheirFiles) {
  const auto first = prepare_new("u1", {an_allocation("gpu-0"), an_allocation("nic-0")});
  ASSERT_TRUE(prepare_new("u2", {an_allocation("gpu-1")}));
  lose_ledger();
  start();
  EXPECT_TRUE(has_cdi_file("u1")) << "containers may still start with it";
  EXPECT_THAT(live_claims(*ledger, directory, "gpus"), SizeIs(2)) << "nothing is taken from running pods";
  EXPECT_EQ(prepare_new("u3", {an_allocation("gpu-1")}).error().code, Code::kAlreadyExists);
  EXPECT_EQ(prepare("u1"), first);
  EXPECT_EQ(gpus->count(Verb::kPrepare), 3) << "asked again: its state is lost";
  ASSERT_TRUE(unprepare("u2"));
  EXPECT_EQ(gpus->holds.count("u2"), 0u);
  EXPECT_TRUE(prepare("u3"));
  directory.lose_device("nic-0");
  ASSERT_TRUE(unprepare("u1")) << "a prepared claim needs no directory entry";
}

TEST_F(ClaimPreparerTest, ARebuiltClaimWhoseDeviceIsGoneIsNotForgotten) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  lose_ledger();
  start();
  directory.lose_device("gpu-0");
  EXPECT_THAT(text_of(unprepare("u1")), HasSubstr("cannot tell its modules: no module reports it"));
  EXPECT_NE(record("u1"), nullptr);
}

}  // namespace
}  // namespace cardcage
