// Requests to the API server after calls that failed, or whose responses were lost.
#include "tests/unit/slices/publisher_fixture.h"

namespace cardcage {
namespace {

using testing::SizeIs;
using Verb = FakeCluster::Verb;

const Error kAway{Code::kUnavailable, "connection refused"};
constexpr Code kRefusals[] = {Code::kResourceExhausted, Code::kPermissionDenied, Code::kUnauthenticated};

class SliceOutageTest : public SlicePublisherTest {
 protected:
  // Publishes a pool, and forgets the calls for that.
  void publish(std::size_t devices) {
    start();
    want(numbered_pool(devices));
    ASSERT_TRUE(converges());
    cluster.forget_calls();
  }
  void expect_calls(std::size_t lists, std::size_t nodes, std::size_t writes) {
    EXPECT_EQ(cluster.count(Verb::kList), lists);
    EXPECT_EQ(cluster.count(Verb::kGetNode), nodes);
    EXPECT_EQ(cluster.writes(), writes);
  }
};

TEST_F(SliceOutageTest, AnUpdateWaitsForTheServerWithoutAList) {
  publish(3);
  cluster.end_watches(std::unexpected(kAway));
  cluster.fail_next(Verb::kWatch, 4, kAway);
  cluster.fail_next(Verb::kUpdate, 4, kAway);
  want(numbered_pool(4));
  EXPECT_TRUE(converges(10s, 50ms));
  expect_published(numbered_pool(4));
  expect_calls(0, 0, 5);
}

// A server that has just started may not know the rights of its users yet.
TEST_F(SliceOutageTest, AWatchThatIsDeniedOnceContinuesWithoutAList) {
  publish(3);
  const Error denied{Code::kPermissionDenied, "watch ResourceSlices: 403"};
  cluster.end_watches(std::unexpected(denied));
  pass(10s, 50ms);
  expect_calls(0, 0, 0);
  EXPECT_EQ(cluster.watchers(), 1u);
  cluster.fail_next(Verb::kWatch, 1, denied);
  cluster.end_watches(std::unexpected(denied));
  pass(10s, 50ms);
  EXPECT_EQ(cluster.count(Verb::kList), 1u) << "without the right to watch, lists must do";
}

TEST_F(SliceOutageTest, AWriteThatTheServerRefusesNeedsNoList) {
  publish(3);
  for (const Code code : kRefusals) {
    cluster.forget_calls();
    cluster.fail_next(Verb::kUpdate, 1, {code, "no"});
    want(numbered_pool(4));
    EXPECT_TRUE(converges(5s, 50ms));
    cluster.fail_next(Verb::kCreate, 1, {code, "no"});
    want(numbered_pool(500));
    EXPECT_TRUE(converges(5s, 50ms));
    expect_published(numbered_pool(500));
    cluster.fail_next(Verb::kDelete, 1, {code, "no"});
    want(numbered_pool(3));
    EXPECT_TRUE(converges(5s, 50ms));
    expect_published(numbered_pool(3));
    EXPECT_EQ(cluster.count(Verb::kList), 0u);
    EXPECT_EQ(cluster.count(Verb::kGetNode), 0u);
  }
}

TEST_F(SliceOutageTest, TheEventTellsOfAnUpdateWhoseResponseWasLost) {
  publish(3);
  cluster.lose_answers(Verb::kUpdate, 1);
  want(numbered_pool(4));
  EXPECT_TRUE(converges(5s, 50ms));
  expect_published(numbered_pool(4));
  expect_calls(0, 0, 1);
}

TEST_F(SliceOutageTest, WithoutTheEventARepeatedUpdateConflictsAndLeadsToAList) {
  publish(3);
  cluster.end_watches(std::unexpected(kAway));
  cluster.fail_next(Verb::kWatch, 20, kAway);
  settle();
  cluster.lose_answers(Verb::kUpdate, 1);
  want(numbered_pool(4));
  EXPECT_TRUE(converges(5s, 50ms));
  expect_published(numbered_pool(4));
  expect_calls(1, 0, 2);
}

TEST_F(SliceOutageTest, ACreateOrDeleteWhoseResponseWasLostLeadsToAList) {
  publish(3);
  cluster.end_watches(std::unexpected(kAway));
  cluster.fail_next(Verb::kWatch, 50, kAway);
  settle();
  cluster.lose_answers(Verb::kCreate, 1);
  publisher.set_pools({{"node7", shared(numbered_pool(3))}, {"more", shared(numbered_pool(1))}});
  EXPECT_TRUE(converges(5s, 50ms));
  EXPECT_THAT(stored(), SizeIs(2)) << "no slice is there twice";
  expect_calls(1, 0, 1);
  cluster.forget_calls();
  cluster.lose_answers(Verb::kDelete, 1);
  want(numbered_pool(3));
  EXPECT_TRUE(converges(5s, 50ms));
  expect_published(numbered_pool(3));
  expect_calls(1, 0, 1);
}

TEST_F(SliceOutageTest, ANodeThatCannotBeReadNeedsNoList) {
  cluster.fail_next(Verb::kGetNode, 3, kAway);
  start();
  want(numbered_pool(3));
  EXPECT_TRUE(converges(5s, 50ms));
  expect_calls(1, 4, 1);
}

TEST_F(SliceOutageTest, AListThatLacksNothingLeavesTheNodeUnread) {
  publish(3);
  Slice other;
  other.generate_name = "00000-other-";
  other.driver = "other.example.com";
  other.node_name = "node7";
  other.pool = {"node7", 1, 1};
  const auto expire = [&] {
    cluster.end_watches(std::unexpected(kAway));
    settle();
    cluster.put_slice(other);
    cluster.compact();
  };
  expire();
  pass(2s, 50ms);
  EXPECT_TRUE(publisher.status().in_sync);
  expect_calls(1, 0, 0);
  EXPECT_EQ(cluster.watchers(), 1u);

  cluster.forget_calls();
  expire();
  cluster.wipe_slices();
  cluster.compact();
  pass(2s, 50ms);
  EXPECT_TRUE(publisher.status().in_sync);
  expect_published(numbered_pool(3));
  expect_calls(1, 1, 1);
}

TEST_F(SliceOutageTest, WhileTheServerIsAwayOnlyTheWriteIsRepeated) {
  publish(3);
  cluster.end_watches(std::unexpected(kAway));
  cluster.pause();
  want(numbered_pool(4));
  pass(5min, 1s);
  EXPECT_FALSE(publisher.status().in_sync);
  EXPECT_EQ(cluster.count(Verb::kList) + cluster.count(Verb::kGetNode), 0u);
  EXPECT_LE(cluster.count(Verb::kUpdate), 20u);
  cluster.resume();
  cluster.forget_calls();
  EXPECT_TRUE(converges(1min, 1s));
  expect_published(numbered_pool(4));
  EXPECT_LE(cluster.calls().size(), 2u) << "the update, and perhaps the watch";
}

// An outage after which all pauses are long.
class LongSliceOutageTest : public SliceOutageTest {
 protected:
  // Returns after an attempt of `last`. If its pauses are long, the next one is 15 s away, or more.
  void publish_in_outage(Verb last, const std::function<void()>& change) {
    publish(3);
    cluster.put_claim(claim);
    for (const Verb verb : {Verb::kGetNode, Verb::kList, Verb::kCreate, Verb::kUpdate, Verb::kDelete, Verb::kWatch})
      cluster.fail_next(verb, 100'000, kAway);
    cluster.end_watches(std::unexpected(kAway));
    change();
    pass(5min, 1s);
    EXPECT_FALSE(publisher.status().in_sync);
    const std::size_t before = cluster.count(last);
    for (int i = 0; i < 60 && cluster.count(last) == before; ++i) pass(1s, 1s);
    cluster.forget_failures();
    cluster.forget_calls();
  }
  void read_a_claim() { ASSERT_TRUE(run(cluster.get_claim("ns", "c1", clock.now() + 10s))); }
  const Claim claim{.ref = {"ns", "c1", "uid-1"}};
};

TEST_F(LongSliceOutageTest, AnUpdateComesWithinASecond) {
  publish_in_outage(Verb::kUpdate, [this] { want(numbered_pool(4)); });
  EXPECT_TRUE(converges(1100ms, 50ms));
  expect_published(numbered_pool(4));
  expect_calls(0, 0, 1);
}

// The pauses of a server in trouble are long.
TEST_F(LongSliceOutageTest, AfterTheFirstSuccessAnUpdateThatWasRefusedComesWithinASecond) {
  publish(3);
  cluster.put_claim(claim);
  cluster.fail_next(Verb::kUpdate, 100'000, {Code::kPermissionDenied, "the server cannot read its roles"});
  want(numbered_pool(4));
  pass(5min, 1s);
  cluster.fail_next(Verb::kGetClaim, 1, kAway);
  EXPECT_FALSE(run(cluster.get_claim("ns", "c1", clock.now() + 10s)));
  cluster.forget_failures();
  read_a_claim();
  EXPECT_TRUE(converges(1100ms, 50ms));
}

TEST_F(LongSliceOutageTest, AfterTheFirstSuccessAListComesBeforeItsTime) {
  publish_in_outage(Verb::kList, [this] {  // a create fails first
    publisher.set_pools({{"node7", shared(numbered_pool(3))}, {"more", shared(numbered_pool(1))}});
  });
  read_a_claim();
  EXPECT_TRUE(converges(14s, 50ms));
  EXPECT_THAT(stored(), SizeIs(2));
}

TEST_F(LongSliceOutageTest, TheNextFailuresHaveShortPauses) {
  publish_in_outage(Verb::kUpdate, [this] { want(numbered_pool(4)); });
  cluster.fail_next(Verb::kUpdate, 3, {Code::kPermissionDenied, "the server has not read its roles yet"});
  read_a_claim();
  EXPECT_TRUE(converges(2s, 10ms));
}

TEST_F(LongSliceOutageTest, TheWatchReturnsBeforeItsTime) {
  publish_in_outage(Verb::kWatch, [this] { want(numbered_pool(4)); });
  read_a_claim();
  pass(14s, 50ms);
  EXPECT_EQ(cluster.watchers(), 1u);
}

}  // namespace
}  // namespace cardcage
