#include "host/pods/orphaned_claims.h"

#include <gmock/gmock.h>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_cluster.h"
#include "tests/unit/ledger/records.h"
#include "tests/unit/pods/claim_checkpoint_file.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two claims are prepared; the kubelet knows only the second one.
class OrphanedClaimsTest : public CoreFixture {
 protected:
  OrphanedClaimsTest() {
    auto opened = Ledger::open(core, clock,
                               {.file = folder / "ledger.db",
                                .intents = folder / "intents",
                                .cdi_folder = folder / "cdi",
                                .boot_id = kBoot,
                                .history = {},
                                .fault = {}});
    if (!opened) throw std::runtime_error(opened.error().message);
    ledger = std::move(*opened);
    for (const std::string uid : {"u1", "u2"}) {
      EXPECT_TRUE(ledger->put(a_record(uid)));
      put_claim("claim-" + uid, uid);
    }
    std::filesystem::create_directory(folder / "pods");
    write_claim_checkpoint(folder.path(), {"u2"});
    orphans =
        std::make_unique<OrphanedClaims>(core, clock, cluster, *ledger, folder.path(),
                                         [this](std::string driver, ClaimRef claim, std::function<Status()> check) {
                                           return release(std::move(driver), std::move(claim), std::move(check));
                                         });
    spawn(core, orphans->run());
    settle();
  }
  ~OrphanedClaimsTest() override {
    orphans->stop();
    settle();
  }

  void put_claim(const std::string& name, const std::string& uid, const std::string& driver = kDriver,
                 const std::string& pool = "node") {
    Claim claim{.ref = {"team", name, uid}, .allocated = true};
    claim.allocations.push_back({.request = "main", .driver = driver, .pool = pool, .device = "gpu-0"});
    cluster.put_claim(claim);
  }
  Task<Status> release(std::string driver, ClaimRef claim, std::function<Status()> check) {
    if (before_its_turn) before_its_turn();
    if (Status allowed = check(); !allowed) co_return allowed;
    released.push_back(driver + " " + claim.uid);
    if (failing) co_return fail(Code::kUnavailable, "it is not running");
    ClaimKey key{driver, claim.uid};
    co_return ledger->release(key, clock.wall());
  }
  void look() {
    clock.advance(OrphanPace().search);
    const std::size_t before = released.size();
    settle();
    if (released.size() > before) runs_until([&] { return failing || !ledger->find({kDriver, "u1"}); });
  }

  ScratchFolder folder;
  FakeClock clock;
  FakeCluster cluster{core, clock};
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<OrphanedClaims> orphans;
  std::function<void()> before_its_turn;
  std::vector<std::string> released;
  bool failing = false;
};

TEST_F(OrphanedClaimsTest, AClaimThatIsGoneIsReleasedAfterTwoLooks) {
  look();
  EXPECT_THAT(released, IsEmpty()) << "the cluster has it";
  cluster.remove_claim("team", "claim-u1");
  look();
  EXPECT_THAT(released, IsEmpty());
  look();
  EXPECT_THAT(released, ElementsAre("gpu.example.com u1"));
  cluster.remove_claim("team", "claim-u2");
  look();
  look();
  EXPECT_THAT(released, SizeIs(1)) << "the kubelet will unprepare the other one";
}

TEST_F(OrphanedClaimsTest, AsksOnlyAboutClaimsThatTheKubeletDoesNotKnow) {
  write_claim_checkpoint(folder.path(), {"u1", "u2"});
  look();
  EXPECT_EQ(cluster.count(FakeCluster::Verb::kGetClaim), 0u);
  std::filesystem::remove(folder / "dra_manager_state");
  look();
  EXPECT_EQ(cluster.count(FakeCluster::Verb::kGetClaim), 2u);
}

TEST_F(OrphanedClaimsTest, AClaimThatHasADeviceOfAnotherNodeNowCountsAsGone) {
  put_claim("claim-u1", "u1", kDriver, "other-node");
  look();
  look();
  EXPECT_THAT(released, ElementsAre("gpu.example.com u1"));
}

// A container may have only the folders of sockets in the kubelet's root: the checkpoint is missing there.
TEST_F(OrphanedClaimsTest, AFolderThatIsNotTheKubeletsProvesNothingAndCostsNoRequest) {
  std::filesystem::remove(folder / "dra_manager_state");
  std::filesystem::remove(folder / "pods");
  cluster.remove_claim("team", "claim-u1");
  for (int i = 0; i < 4; ++i) look();
  EXPECT_EQ(cluster.count(FakeCluster::Verb::kGetClaim), 0u);
  EXPECT_THAT(released, IsEmpty());
}

TEST_F(OrphanedClaimsTest, AClaimOfTheSameNameAndOneWithoutTheDriverCountAsGone) {
  put_claim("claim-u1", "another uid");
  look();
  put_claim("claim-u1", "u1", "other.example.com");
  look();
  EXPECT_THAT(released, SizeIs(1));
}

TEST_F(OrphanedClaimsTest, AClaimThatComesBackIsNoSuspect) {
  cluster.remove_claim("team", "claim-u1");
  look();
  put_claim("claim-u1", "u1");
  look();
  cluster.remove_claim("team", "claim-u1");
  look();
  EXPECT_THAT(released, IsEmpty());
  look();
  EXPECT_THAT(released, SizeIs(1));
}

TEST_F(OrphanedClaimsTest, AClaimThatTheKubeletPreparesBeforeItsTurnIsNotReleased) {
  cluster.remove_claim("team", "claim-u1");
  look();
  before_its_turn = [this] { write_claim_checkpoint(folder.path(), {"u1", "u2"}); };
  look();
  EXPECT_THAT(released, IsEmpty());
  EXPECT_TRUE(ledger->find({kDriver, "u1"}));
  before_its_turn = [this] { std::ofstream(folder / "dra_manager_state") << "{"; };
  write_claim_checkpoint(folder.path(), {"u2"});
  look();
  look();
  EXPECT_THAT(released, IsEmpty()) << "the checkpoint is damaged";
}

TEST_F(OrphanedClaimsTest, ALookInTheDarkProvesNothing) {
  cluster.remove_claim("team", "claim-u1");
  look();
  cluster.fail_next(FakeCluster::Verb::kGetClaim, 1, {Code::kUnavailable, "no response"});
  look();
  EXPECT_THAT(released, IsEmpty()) << "the API server is away";
  std::ofstream(folder / "dra_manager_state") << "{";
  look();
  EXPECT_THAT(released, IsEmpty()) << "the checkpoint is damaged";
  write_claim_checkpoint(folder.path(), {});
  look();
  EXPECT_THAT(released, ElementsAre("gpu.example.com u1"));
}

TEST_F(OrphanedClaimsTest, AReleaseThatFailsIsTriedAgain) {
  cluster.remove_claim("team", "claim-u1");
  failing = true;
  look();
  look();
  look();
  EXPECT_THAT(released, SizeIs(2));
  failing = false;
  look();
  EXPECT_THAT(released, SizeIs(3));
  look();
  EXPECT_THAT(released, SizeIs(3));
}

TEST_F(OrphanedClaimsTest, ARecordWithoutANameIsLeftToAnOperator) {
  ClaimRecord nameless = a_record("u3");
  nameless.ref.name.clear();
  ASSERT_TRUE(ledger->put(nameless));
  look();
  look();
  EXPECT_THAT(released, IsEmpty());
}

}  // namespace
}  // namespace cardcage
