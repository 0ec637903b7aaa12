#include "tests/fakes/fake_cluster.h"

#include <gmock/gmock.h>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace cardcage {
namespace {

class FakeClusterTest : public CoreFixture {
 protected:
  FakeClock clock;
  FakeCluster cluster{core, clock};
  const Instant deadline = clock.now() + std::chrono::seconds(10);

  Slice slice() {
    Slice one;
    one.driver = "gpu.example.com";
    one.node_name = "node7";
    one.generate_name = "00000-";
    one.pool = {"node7", 1, 1};
    return one;
  }
};

TEST_F(FakeClusterTest, ReadsClaimsAndNodes) {
  Claim claim;
  claim.ref = {"default", "c1", "uid-1"};
  cluster.put_claim(claim);
  cluster.put_node("node7", "node-uid");
  EXPECT_EQ(run(cluster.get_claim("default", "c1", deadline)).value(), claim);
  EXPECT_EQ(run(cluster.get_claim("default", "c2", deadline)).error().code, Code::kNotFound);
  EXPECT_EQ(run(cluster.get_node("node7", deadline)).value().uid, "node-uid");
  cluster.fail_next(FakeCluster::Verb::kGetClaim, 1, {Code::kUnavailable, "away"});
  EXPECT_EQ(run(cluster.get_claim("default", "c1", deadline)).error().message, "away");
  cluster.lose_answers(FakeCluster::Verb::kGetClaim, 1);
  EXPECT_EQ(run(cluster.get_claim("default", "c1", deadline)).error().code, Code::kUnavailable);
}

TEST_F(FakeClusterTest, RefusesStaleWritesAndTellsWatchersOfGoodOnes) {
  std::vector<SliceEvent> seen;
  std::string version = "100";
  spawn(core, [](FakeCluster& c, std::string& v, std::vector<SliceEvent>& events) -> Task<void> {
    (void)co_await c.watch_slices("gpu.example.com", "node7", v, [&](const SliceEvent& e) { events.push_back(e); });
  }(cluster, version, seen));
  const Slice created = run(cluster.create_slice(slice(), deadline)).value();
  EXPECT_EQ(created.name, "00000-00001");
  const Slice updated = run(cluster.update_slice(created, deadline)).value();
  EXPECT_NE(updated.resource_version, created.resource_version);
  EXPECT_EQ(run(cluster.update_slice(created, deadline)).error().code, Code::kAborted);
  EXPECT_EQ(run(cluster.delete_slice(created, deadline)).error().code, Code::kAborted);
  EXPECT_TRUE(run(cluster.delete_slice(updated, deadline)));
  EXPECT_TRUE(run(cluster.delete_slice(updated, deadline)));
  settle();
  using testing::Field;
  EXPECT_THAT(seen, testing::ElementsAre(Field(&SliceEvent::deleted, false), Field(&SliceEvent::deleted, false),
                                         Field(&SliceEvent::deleted, true)));
  EXPECT_EQ(version, "103");
  cluster.end_watches();
  settle();
  EXPECT_EQ(cluster.watchers(), 0u);
}

TEST_F(FakeClusterTest, APausedClusterAnswersWhenResumedOrNotAtAll) {
  cluster.pause();
  std::vector<bool> answers;
  for (int seconds : {1, 5}) {
    spawn(core, [](FakeCluster& c, Instant d, std::vector<bool>& out) -> Task<void> {
      const auto list = co_await c.list_slices("gpu.example.com", "node7", d);
      out.push_back(list.has_value());
    }(cluster, clock.now() + std::chrono::seconds(seconds), answers));
  }
  settle();
  clock.advance(std::chrono::seconds(1));
  settle();
  EXPECT_THAT(answers, testing::ElementsAre(false));
  cluster.resume();
  settle();
  EXPECT_THAT(answers, testing::ElementsAre(false, true));
}

TEST_F(FakeClusterTest, ACompactedHistoryEndsOldWatches) {
  cluster.put_slice(slice());
  cluster.compact();
  std::string version = "100";
  EXPECT_EQ(run(cluster.watch_slices("gpu.example.com", "node7", version, {})).error().code, Code::kOutOfRange);
}

}  // namespace
}  // namespace cardcage
