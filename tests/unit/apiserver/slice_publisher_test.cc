#include "host/apiserver/slice_publisher.h"

#include <gmock/gmock.h>

#include <random>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_cluster.h"
#include "tests/unit/apiserver/slice_pool.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Verb = FakeCluster::Verb;

class SlicePublisherTest : public CoreFixture {
 protected:
  SlicePublisherTest() { cluster.put_node("node7", "node-uid"); }
  ~SlicePublisherTest() override {
    publisher.stop();
    settle();
    EXPECT_TRUE(ended || !started);
  }

  void start() {
    started = true;
    spawn(core, [](SlicePublisher& p, bool& end) -> Task<void> {
      co_await p.run();
      end = true;
    }(publisher, ended));
    settle();
  }
  void want(PoolContent content) { publisher.set_pools({{"node7", shared(std::move(content))}}); }
  // Lets `time` pass in steps.
  void pass(Duration time, Duration step = 5ms) {
    settle();
    for (Duration passed{}; passed < time; passed += step) {
      clock.advance(step);
      settle();
    }
  }
  // Lets time pass until everything wanted is published; false if that takes longer than `limit`.
  bool converges(Duration limit = 100ms, Duration step = 5ms) {
    settle();
    for (Duration passed{}; passed < limit && !publisher.status().in_sync; passed += step) pass(step, step);
    return publisher.status().in_sync;
  }
  std::vector<Slice> stored() const {
    std::vector<Slice> slices;
    for (const auto& [name, slice] : cluster.slices()) slices.push_back(slice);
    return slices;
  }
  // What the cluster holds is `content` and nothing else, in a whole and valid pool.
  void expect_published(const PoolContent& content) {
    std::map<std::string, const SliceDevice*> wanted;
    for (const SliceDevice& device : content.devices) wanted[device.name] = &device;
    const ConsumerView view = consumer_view(stored());
    EXPECT_TRUE(view.complete);
    EXPECT_EQ(view.flaw, "");
    EXPECT_EQ(view.devices.size(), wanted.size());
    CounterSets counters;
    for (const Slice& slice : stored()) {
      EXPECT_EQ(slice.pool.generation, stored()[0].pool.generation);
      EXPECT_EQ(slice.owner_node_uid, "node-uid");
      counters.insert(slice.shared_counters.begin(), slice.shared_counters.end());
      for (SliceDevice device : slice.devices) {
        for (DeviceTaint& taint : device.taints) taint.time_added.clear();
        ASSERT_TRUE(wanted.contains(device.name)) << device.name;
        EXPECT_EQ(device, *wanted[device.name]);
      }
    }
    EXPECT_EQ(counters, content.counters);
  }

  FakeClock clock;
  FakeCluster cluster{core, clock};
  SlicePublisher publisher{core, clock, cluster, {.driver = "gpu.example.com", .node_name = "node7"}};
  bool started = false, ended = false;
};

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

TEST_F(SlicePublisherTest, NoDevicesAreOneEmptySlice) {
  start();
  want({});
  EXPECT_TRUE(converges());
  EXPECT_THAT(stored(), SizeIs(1));
  expect_published({});
}

TEST_F(SlicePublisherTest, OnlyTheLatestWishIsWritten) {
  start();
  for (std::size_t count = 1; count <= 50; ++count) want(numbered_pool(count));
  EXPECT_TRUE(converges());
  EXPECT_EQ(cluster.writes(), 1u);
  expect_published(numbered_pool(50));
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
  EXPECT_THAT(stored(), SizeIs(3)) << "stopping leaves the slices";
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

TEST_F(SlicePublisherTest, AWipeThatTakesAWhileIsWaitedForALittle) {
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

TEST_F(SlicePublisherTest, WhatSomebodyChangesIsCorrected) {
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

TEST_F(SlicePublisherTest, TwoPublishersThatDisagreeDoNotFightHot) {
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

TEST_F(SlicePublisherTest, AnOwnChangeIsNotHeldBackByADispute) {
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

TEST_F(SlicePublisherTest, LostAnswersLeaveNoDuplicates) {
  cluster.lose_answers(Verb::kCreate, 2);
  start();
  want(numbered_pool(500));
  EXPECT_TRUE(converges(1s));
  expect_published(numbered_pool(500));
  EXPECT_THAT(stored(), SizeIs(4));
}

TEST_F(SlicePublisherTest, AGoneHistoryIsListedAgain) {
  start();
  want(numbered_pool(3));
  ASSERT_TRUE(converges());
  cluster.end_watches(fail(Code::kUnavailable, "connection reset"));
  settle();
  cluster.wipe_slices();
  cluster.compact();
  EXPECT_TRUE(publisher.status().in_sync) << "nothing is known of it yet";
  pass(1s);
  EXPECT_TRUE(publisher.status().in_sync);
  expect_published(numbered_pool(3));
}

TEST_F(SlicePublisherTest, AWatchThatBreaksGoesOnWhereItWas) {
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

TEST_F(SlicePublisherTest, WatchesThatEndAtOnceAreNotStartedHot) {
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
  EXPECT_THAT(publisher.status().last_error, HasSubstr("did not answer"));
  EXPECT_LE(cluster.calls().size(), 40u) << "about one call per 30 s";
  cluster.resume();
  EXPECT_TRUE(converges(1min, 1s));
  expect_published(numbered_pool(300));
  EXPECT_EQ(publisher.status().last_error, "");
}

TEST_F(SlicePublisherTest, AServerThatFailsInTheMiddleOfARewriteIsFollowedUp) {
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

TEST_F(SlicePublisherTest, WhatTheServerRefusesIsNotRepeatedUntilTheDevicesChange) {
  cluster.fail_next(Verb::kCreate, 1, {Code::kInvalidArgument, "spec.devices[0]: no"});
  start();
  publisher.set_pools({{"bad", shared(numbered_pool(1))}, {"good", shared(numbered_pool(2))}});
  pass(5min, 1s);
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

TEST_F(SlicePublisherTest, ARefusalIsTriedAgainAfterALongTime) {
  cluster.fail_next(Verb::kCreate, 1, {Code::kInvalidArgument, "no"});
  start();
  want(numbered_pool(1));
  EXPECT_FALSE(converges(9min, 1s));
  EXPECT_EQ(publisher.status().pools.at("node7").rejection, "no");
  EXPECT_TRUE(converges(2min, 1s));
}

PoolContent partitioned_pool() {
  PoolContent content = numbered_pool(2);
  content.counters = {{"card", slots(2)}};
  content.devices.push_back(partition("part-0", "card"));
  content.devices.push_back(partition("part-1", "card"));
  return content;
}

TEST_F(SlicePublisherTest, PartitionsFollowOnceTheServerHasKeptTheirCounters) {
  start();
  want(partitioned_pool());
  EXPECT_TRUE(converges());
  expect_published(partitioned_pool());
  EXPECT_THAT(publisher.status().disabled_gates, IsEmpty());
  cluster.forget_calls();
  cluster.wipe_slices();
  EXPECT_TRUE(converges());
  EXPECT_EQ(cluster.writes(), 2u) << "the gate is known by now";
}

TEST_F(SlicePublisherTest, APartitionIsNeverPublishedWithoutItsCounters) {
  bool unsafe = false;
  cluster.on_store([&](Slice& slice) {
    slice.shared_counters.clear();
    for (SliceDevice& device : slice.devices) {
      device.consumes.clear();
      unsafe = unsafe || device.name.starts_with("part");
    }
  });
  start();
  want(partitioned_pool());
  EXPECT_TRUE(converges());
  expect_published(numbered_pool(2));
  EXPECT_FALSE(unsafe);
  EXPECT_THAT(publisher.status().disabled_gates, ElementsAre("DRAPartitionableDevices"));
  EXPECT_THAT(publisher.status().pools.at("node7").withheld, SizeIs(2));
  const std::size_t writes = cluster.writes();
  pass(10min, 1s);
  EXPECT_EQ(cluster.writes(), writes);

  // The server is upgraded, which ends its watches.
  cluster.on_store({});
  cluster.end_watches(fail(Code::kUnavailable, "connection reset"));
  EXPECT_TRUE((pass(100ms), converges()));
  expect_published(partitioned_pool());
}

TEST_F(SlicePublisherTest, WhereTaintsAreDroppedASickDeviceIsWithheld) {
  cluster.on_store([](Slice& slice) {
    for (SliceDevice& device : slice.devices) device.taints.clear();
  });
  start();
  PoolContent content = numbered_pool(3);
  want(content);
  ASSERT_TRUE(converges());
  content.devices[1] = tainted_device(numbered(1));
  want(content);
  EXPECT_TRUE(converges());
  EXPECT_EQ(consumer_view(stored()).devices, (std::set<std::string>{numbered(0), numbered(2)}));
  content.devices[1] = plain_device(numbered(1));
  want(content);
  EXPECT_TRUE(converges());
  expect_published(content);
}

TEST_F(SlicePublisherTest, WhatAWebhookChangesIsNotFoughtOver) {
  cluster.on_store([](Slice& slice) {
    for (SliceDevice& device : slice.devices) device.attributes["added"] = true;
  });
  start();
  want(numbered_pool(3));
  EXPECT_TRUE(converges());
  EXPECT_EQ(cluster.writes(), 1u);
  cluster.end_watches(fail(Code::kOutOfRange, "gone"));
  pass(1min, 1s);
  EXPECT_EQ(cluster.writes(), 1u) << "not after a new list either";
  want(numbered_pool(4));
  EXPECT_TRUE(converges());
  EXPECT_EQ(cluster.writes(), 2u);
}

TEST_F(SlicePublisherTest, FindsOutWhereTheServerWantsCounters) {
  start();
  want(numbered_pool(2));
  ASSERT_TRUE(converges());
  // Kubernetes 1.34: a device may only consume counters of its own slice.
  cluster.fail_next(Verb::kUpdate, 1, {Code::kInvalidArgument, "spec.devices[2].consumesCounters[0]: not found"});
  want(partitioned_pool());
  EXPECT_TRUE(converges());
  expect_published(partitioned_pool());
}

TEST_F(SlicePublisherTest, ANodeThatWasReplacedOwnsTheNewSlices) {
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

// Whatever others do meanwhile, in the end the cluster holds exactly what is wanted.
TEST_F(SlicePublisherTest, RandomTroubleConverges) {
  std::mt19937 random(3u + static_cast<unsigned>(GTEST_FLAG_GET(random_seed)));
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  const auto trouble = [&](std::size_t kind) {
    const auto slices = stored();
    const std::string victim = slices.empty() ? "" : slices[below(slices.size())].name;
    constexpr Verb kVerbs[] = {Verb::kGetNode, Verb::kList, Verb::kCreate, Verb::kUpdate, Verb::kDelete};
    constexpr Code kCodes[] = {Code::kUnavailable, Code::kAborted, Code::kResourceExhausted, Code::kNotFound};
    if (kind == 0) cluster.wipe_slices();
    if (kind == 1) cluster.remove_slice(victim);
    if (kind == 2) cluster.fail_next(kVerbs[below(5)], 1, {kCodes[below(4)], "trouble"});
    if (kind == 3) cluster.lose_answers(kVerbs[below(5)], 1);
    if (kind == 4) cluster.end_watches(fail(Code::kUnavailable, "reset"));
    if (kind == 5) cluster.compact(), cluster.end_watches();
    if (kind >= 6 && !slices.empty()) {
      Slice changed = cluster.slices().at(victim);
      if (kind == 6) changed.name.clear();
      if (kind == 7) changed.pool.generation += 2;
      if (kind == 8) changed.pool.slice_count += 1;
      if (kind == 9 && !changed.devices.empty()) changed.devices.erase(changed.devices.begin());
      cluster.put_slice(changed);
    }
  };
  start();
  for (int round = 0; round < 40; ++round) {
    PoolContent content;
    const std::size_t count = round == 39 ? 10'000 : below(600);
    for (std::size_t i = 0; i < count; ++i)
      if (below(10) > 0)
        content.devices.push_back(below(200) == 0 ? tainted_device(numbered(i)) : plain_device(numbered(i)));
    if (below(3) == 0) {
      content.counters["card"] = slots(2);
      content.devices.push_back(partition("part", "card"));
    }
    want(content);
    for (std::size_t i = below(6); i > 0; --i) {
      trouble(below(10));
      for (std::size_t steps = below(40); steps > 0; --steps) core.poll_one();
      if (below(2) == 0) pass(5ms);
    }
    pass(1s, 50ms);
    ASSERT_TRUE(converges(10min, 1s)) << round << ": " << publisher.status().last_error;
    pass(1min, 10s);
    expect_published(content);
    if (HasFailure()) FAIL() << "in round " << round;
  }
}

}  // namespace
}  // namespace cardcage
