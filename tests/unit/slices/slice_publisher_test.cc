#include "host/slices/slice_publisher.h"

#include "tests/unit/slices/publisher_fixture.h"

namespace cardcage {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Verb = FakeCluster::Verb;

TEST_F(SlicePublisherTest, WritesNothingBeforeItKnowsWhatIsWanted) {
  start();
  pass(1min, 1s);
  EXPECT_THAT(cluster.calls(), IsEmpty());
}

TEST_F(SlicePublisherTest, PublishesWithinAHundredMilliseconds) {
  start();
  want(numbered_pool(3));
  EXPECT_TRUE(converges(100ms));
  expect_published(numbered_pool(3));
  EXPECT_EQ(publisher.status().pools.at("node7").generation, 1);
  EXPECT_EQ(publisher.status().pools.at("node7").devices, 3u);
  EXPECT_EQ(publisher.status().last_success, clock.wall());
  cluster.forget_calls();
  want(numbered_pool(4));
  EXPECT_TRUE(converges(100ms));
  EXPECT_EQ(cluster.calls().size(), 1u) << "one PUT and nothing else";
  expect_published(numbered_pool(4));
}

TEST_F(SlicePublisherTest, APoolWithoutDevicesIsOneEmptySlice) {
  start();
  want({});
  EXPECT_TRUE(converges());
  EXPECT_THAT(stored(), SizeIs(1));
  expect_published({});
}

TEST_F(SlicePublisherTest, OnlyTheLatestPoolsAreWritten) {
  start();
  for (std::size_t count = 1; count <= 50; ++count) want(numbered_pool(count));
  EXPECT_TRUE(converges());
  EXPECT_EQ(cluster.writes(), 1u);
  expect_published(numbered_pool(50));
}

TEST_F(SlicePublisherTest, DevicesThatChangeAllTheTimeArePublishedOnceInAWhile) {
  start();
  for (std::size_t i = 0; i < 600; ++i) {
    want(numbered_pool(1 + i % 2));
    pass(100ms, 10ms);
  }
  EXPECT_GE(cluster.writes(), 25u) << "a burst is free";
  EXPECT_LE(cluster.writes(), 35u) << "for 600 changes in a minute";
  EXPECT_TRUE(converges(6s));
  expect_published(numbered_pool(2));
}

TEST_F(SlicePublisherTest, TenThousandDevicesAreWrittenEightSlicesAtATime) {
  start();
  want(numbered_pool(10'000));
  EXPECT_TRUE(converges());
  EXPECT_EQ(cluster.writes(), 79u);
  EXPECT_EQ(cluster.most_concurrent_writes(), 8);
  expect_published(numbered_pool(10'000));
}

TEST_F(SlicePublisherTest, ContinuesWithWhatAnEarlierProcessLeft) {
  start();
  want(numbered_pool(300));
  EXPECT_TRUE(converges());
  publisher.stop();
  settle();
  EXPECT_TRUE(ended);
  EXPECT_THAT(stored(), SizeIs(3)) << "stopping keeps the slices";
  cluster.forget_calls();

  SlicePublisher next(core, clock, cluster, {.driver = "gpu.example.com", .node_name = "node7"});
  spawn(core, next.run());
  next.set_pools({{"node7", shared(numbered_pool(300))}});
  pass(100ms);
  EXPECT_TRUE(next.status().in_sync);
  EXPECT_EQ(cluster.writes(), 0u);
  next.stop();
  settle();
}

TEST_F(SlicePublisherTest, AWipeByTheKubeletIsUndoneAtOnce) {
  start();
  want(numbered_pool(500));
  ASSERT_TRUE(converges());
  for (int time = 1; time <= 3; ++time) {
    cluster.forget_calls();
    cluster.wipe_slices();
    EXPECT_TRUE(converges(50ms)) << time;
    EXPECT_EQ(cluster.writes(), 4u);
    expect_published(numbered_pool(500));
  }
}

TEST_F(SlicePublisherTest, ASlowWipeIsGivenTimeToEnd) {
  start();
  want(numbered_pool(1'000));
  ASSERT_TRUE(converges());
  cluster.forget_calls();
  for (const Slice& slice : stored()) {
    cluster.remove_slice(slice.name);
    pass(2ms, 1ms);
  }
  EXPECT_TRUE(converges());
  EXPECT_EQ(cluster.writes(), 8u) << "each slice is written once";
  expect_published(numbered_pool(1'000));
}

TEST_F(SlicePublisherTest, PoolsThatAreNotWantedAreDeleted) {
  start();
  publisher.set_pools({{"node7", shared(numbered_pool(2))}, {"node7/nic", shared(numbered_pool(1))}});
  EXPECT_TRUE(converges());
  EXPECT_THAT(stored(), SizeIs(2));
  want(numbered_pool(2));
  EXPECT_TRUE(converges());
  EXPECT_THAT(stored(), SizeIs(1));
  publisher.set_pools({});
  EXPECT_TRUE(converges());
  EXPECT_THAT(stored(), IsEmpty());
}

TEST_F(SlicePublisherTest, ANullPoolStaysAsItIsStoredAndUnwantedOnesGoAlready) {
  start();
  publisher.set_pools({{"kept", shared(numbered_pool(2))}, {"old", shared(numbered_pool(1))}});
  ASSERT_TRUE(converges());
  publisher.set_pools({{"kept", nullptr}});
  pass(1s);
  ASSERT_THAT(stored(), SizeIs(1));
  EXPECT_EQ(stored()[0].pool.name, "kept");
  EXPECT_EQ(stored()[0].pool.generation, 1);
  EXPECT_FALSE(publisher.status().in_sync);
  publisher.set_pools({{"kept", shared(numbered_pool(3))}});
  EXPECT_TRUE(converges());
  expect_published(numbered_pool(3));
}

TEST_F(SlicePublisherTest, SlicesOfOthersAreLeftAlone) {
  Slice other;
  other.generate_name = "00000-other-";
  other.driver = "other.example.com";
  other.node_name = "node7";
  other.pool = {"node7", 1, 1};
  cluster.put_slice(other);
  other.driver = "gpu.example.com";
  other.node_name = "node8";
  cluster.put_slice(other);
  start();
  want({});
  EXPECT_TRUE(converges());
  publisher.set_pools({});
  EXPECT_TRUE(converges());
  EXPECT_THAT(stored(), SizeIs(2));
}

TEST_F(SlicePublisherTest, SlicesThatOthersChangeAreCorrected) {
  start();
  want(numbered_pool(3));
  ASSERT_TRUE(converges());
  Slice changed = stored()[0];
  changed.devices.pop_back();
  cluster.put_slice(changed);
  EXPECT_TRUE(converges(50ms));
  expect_published(numbered_pool(3));
  EXPECT_EQ(publisher.status().corrections, 1u);
  changed = stored()[0];
  changed.name.clear();
  cluster.put_slice(changed);
  EXPECT_TRUE(converges(50ms));
  EXPECT_THAT(stored(), SizeIs(1));
}

TEST_F(SlicePublisherTest, TwoPublishersThatDisagreeSlowDown) {
  SlicePublisher rival(core, clock, cluster, {.driver = "gpu.example.com", .node_name = "node7", .jitter_seed = 9});
  spawn(core, rival.run());
  start();
  want(numbered_pool(3));
  rival.set_pools({{"node7", shared(numbered_pool(4))}});
  pass(10s, 50ms);
  const std::size_t at_first = cluster.writes();
  EXPECT_LE(at_first, 60u);
  pass(10min, 1s);
  EXPECT_LE(cluster.writes() - at_first, 80u);
  EXPECT_THAT(publisher.status().last_error, HasSubstr("second publisher"));
  rival.stop();
  pass(2min, 1s);
  EXPECT_TRUE(publisher.status().in_sync);
  expect_published(numbered_pool(3));
  EXPECT_EQ(publisher.status().last_error, "");
}

TEST_F(SlicePublisherTest, AChangeOfOurDevicesIsNotDelayedByADispute) {
  start();
  want(numbered_pool(3));
  ASSERT_TRUE(converges());
  for (int i = 0; i < 30; ++i) {
    Slice changed = stored()[0];
    changed.devices.clear();
    cluster.put_slice(changed);
    pass(20ms);
  }
  ASSERT_FALSE(publisher.status().in_sync);
  want(numbered_pool(5));
  EXPECT_TRUE(converges(100ms));
  expect_published(numbered_pool(5));
}

TEST_F(SlicePublisherTest, AConflictIsListedAgainAndRetried) {
  start();
  want(numbered_pool(3));
  ASSERT_TRUE(converges());
  cluster.fail_next(Verb::kUpdate, 1, {Code::kAborted, "conflict"});
  cluster.forget_calls();
  want(numbered_pool(4));
  EXPECT_TRUE(converges(300ms));
  EXPECT_EQ(cluster.count(Verb::kList), 1u);
  EXPECT_EQ(publisher.status().failures, 1u);
  EXPECT_EQ(publisher.status().last_error, "");
  expect_published(numbered_pool(4));
}

TEST_F(SlicePublisherTest, AListThatIsOlderThanAnEventDoesNotHideIt) {
  start();
  want(numbered_pool(3));
  ASSERT_TRUE(converges());
  for (int turns = 0; turns < 8; ++turns) {
    cluster.forget_calls();
    cluster.fail_next(Verb::kUpdate, 1, {Code::kAborted, "conflict"});
    want(numbered_pool(4 + static_cast<std::size_t>(turns)));
    while (cluster.count(Verb::kList) == 0) {
      clock.advance(1ms);
      while (cluster.count(Verb::kList) == 0 && core.poll_one() > 0) {
      }
      core.restart();
    }
    for (int i = 0; i < turns; ++i) core.poll_one();
    Slice stranger = stored()[0];
    stranger.name.clear();
    cluster.put_slice(stranger);
    pass(1s, 50ms);
    EXPECT_TRUE(publisher.status().in_sync);
    EXPECT_THAT(stored(), SizeIs(1)) << turns;
  }
}

TEST_F(SlicePublisherTest, LostResponsesLeaveNoDuplicates) {
  cluster.lose_answers(Verb::kCreate, 2);
  start();
  want(numbered_pool(500));
  EXPECT_TRUE(converges(1s));
  expect_published(numbered_pool(500));
  EXPECT_THAT(stored(), SizeIs(4));
}

TEST_F(SlicePublisherTest, AnExpiredVersionIsListedAgain) {
  start();
  want(numbered_pool(3));
  ASSERT_TRUE(converges());
  cluster.end_watches(fail(Code::kUnavailable, "connection reset"));
  settle();
  cluster.wipe_slices();
  cluster.compact();
  EXPECT_TRUE(publisher.status().in_sync) << "the publisher has not noticed it yet";
  pass(1s);
  EXPECT_TRUE(publisher.status().in_sync);
  expect_published(numbered_pool(3));
}

TEST_F(SlicePublisherTest, ABrokenWatchContinuesWhereItWas) {
  start();
  want(numbered_pool(3));
  ASSERT_TRUE(converges());
  cluster.forget_calls();
  cluster.end_watches(fail(Code::kUnavailable, "connection reset"));
  settle();
  cluster.wipe_slices();
  pass(300ms);
  EXPECT_TRUE(publisher.status().in_sync);
  EXPECT_EQ(cluster.count(Verb::kList), 0u);
  expect_published(numbered_pool(3));
}

TEST_F(SlicePublisherTest, AnOverloadedServerIsNotAskedForLists) {
  start();
  want(numbered_pool(3));
  ASSERT_TRUE(converges());
  cluster.forget_calls();
  const Error busy{Code::kResourceExhausted, "429"};
  cluster.fail_next(Verb::kUpdate, 1, busy);
  cluster.fail_next(Verb::kDelete, 1, busy);
  cluster.fail_next(Verb::kCreate, 1, busy);
  cluster.end_watches(std::unexpected(busy));
  want(numbered_pool(500));
  EXPECT_TRUE(converges(2s));
  expect_published(numbered_pool(500));
  want(numbered_pool(3));
  EXPECT_TRUE(converges(2s));
  expect_published(numbered_pool(3));
  EXPECT_EQ(publisher.status().failures, 3u);
  EXPECT_EQ(cluster.count(Verb::kList), 0u);
}

TEST_F(SlicePublisherTest, WatchesThatEndAtOnceAreRestartedSlowly) {
  start();
  want(numbered_pool(3));
  ASSERT_TRUE(converges());
  cluster.forget_calls();
  for (int i = 0; i < 600; ++i) {
    cluster.end_watches();
    pass(100ms, 100ms);
  }
  EXPECT_LE(cluster.count(Verb::kWatch), 12u);
}

TEST_F(SlicePublisherTest, KeepsGoingWhileTheApiServerIsAway) {
  cluster.pause();
  start();
  want(numbered_pool(300));
  pass(10min, 1s);
  EXPECT_FALSE(publisher.status().in_sync);
  EXPECT_THAT(publisher.status().last_error, HasSubstr("did not respond"));
  EXPECT_LE(cluster.calls().size(), 40u) << "about one call per 30 s";
  cluster.resume();
  EXPECT_TRUE(converges(1min, 1s));
  expect_published(numbered_pool(300));
  EXPECT_EQ(publisher.status().last_error, "");
}

TEST_F(SlicePublisherTest, ARewriteContinuesAfterAServerFailure) {
  start();
  want(numbered_pool(500));
  ASSERT_TRUE(converges());
  cluster.fail_next(Verb::kUpdate, 3, {Code::kUnavailable, "away"});
  PoolContent content = numbered_pool(500);
  for (SliceDevice& device : content.devices) device.attributes["model"] = std::int64_t{2};
  want(content);
  EXPECT_TRUE(converges(2s));
  expect_published(content);
  EXPECT_EQ(stored()[0].pool.generation, 2);
}

TEST_F(SlicePublisherTest, ARejectedPoolHoldsNoOtherUpAndIsTriedAtOnceWithOtherDevices) {
  cluster.fail_next(Verb::kCreate, 1, {Code::kInvalidArgument, "spec.devices[0]: no"});
  start();
  publisher.set_pools({{"bad", shared(numbered_pool(1))}, {"good", shared(numbered_pool(2))}});
  pass(400ms);
  EXPECT_EQ(cluster.count(Verb::kCreate), 2u);
  ASSERT_THAT(stored(), SizeIs(1)) << "the other pool is published";
  EXPECT_EQ(stored()[0].pool.name, "good");
  EXPECT_FALSE(publisher.status().in_sync);
  EXPECT_THAT(publisher.status().last_error, HasSubstr("spec.devices[0]: no"));
  publisher.set_pools({{"bad", shared(numbered_pool(1))}, {"good", shared(numbered_pool(2))}});
  EXPECT_TRUE(converges(100ms));
  EXPECT_THAT(stored(), SizeIs(2));
  EXPECT_EQ(publisher.status().pools.at("bad").rejection, "");
}

TEST_F(SlicePublisherTest, ARejectedPoolComesBackWithoutAChangeOfItsDevices) {
  cluster.fail_next(Verb::kCreate, 3, {Code::kInvalidArgument, "no"});
  start();
  want(numbered_pool(1));
  pass(400ms);
  EXPECT_EQ(publisher.status().pools.at("node7").rejection, "no");
  EXPECT_TRUE(converges(8s, 100ms)) << "after pauses of 1, 2 and 4 s";
  EXPECT_EQ(cluster.count(Verb::kCreate), 4u);
  EXPECT_EQ(publisher.status().pools.at("node7").rejection, "");
  expect_published(numbered_pool(1));
}

TEST_F(SlicePublisherTest, ASliceThatIsRejectedForAWhileAfterAWipeComesBack) {
  start();
  want(numbered_pool(1));
  ASSERT_TRUE(converges());
  cluster.fail_next(Verb::kCreate, 2, {Code::kInvalidArgument, "no"});
  cluster.wipe_slices();
  pass(400ms);
  EXPECT_THAT(stored(), IsEmpty());
  EXPECT_TRUE(converges(4s, 100ms));
  expect_published(numbered_pool(1));
}

TEST_F(SlicePublisherTest, APoolThatIsRejectedForGoodIsRarelyTried) {
  cluster.fail_next(Verb::kCreate, 1'000, {Code::kInvalidArgument, "no"});
  start();
  want(numbered_pool(1));
  pass(1h, 1s);
  EXPECT_GE(cluster.count(Verb::kCreate), 20u);
  EXPECT_LE(cluster.count(Verb::kCreate), 40u);
  EXPECT_EQ(publisher.status().corrections, 0u);
  EXPECT_THAT(publisher.status().last_error, HasSubstr("tried again: no"));
}

TEST_F(SlicePublisherTest, AReplacedNodeOwnsTheNewSlices) {
  start();
  want(numbered_pool(3));
  ASSERT_TRUE(converges());
  cluster.remove_node("node7");
  cluster.wipe_slices();
  pass(1min, 1s);
  EXPECT_THAT(stored(), IsEmpty());
  EXPECT_THAT(publisher.status().last_error, HasSubstr("'node7' does not exist"));
  cluster.put_node("node7", "new-uid");
  EXPECT_TRUE(converges(1min, 1s));
  EXPECT_EQ(stored().at(0).owner_node_uid, "new-uid");
}

}  // namespace
}  // namespace cardcage
