// Servers that drop fields, change slices, or require counters in other slices.
#include "host/model/standard_attributes.h"
#include "tests/unit/slices/publisher_fixture.h"

namespace cardcage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Verb = FakeCluster::Verb;
using SliceGatesTest = SlicePublisherTest;

PoolContent partitioned_pool() {
  PoolContent content = numbered_pool(2);
  content.counters = {{"card", slots(2)}};
  content.devices.push_back(partition("part-0", "card"));
  content.devices.push_back(partition("part-1", "card"));
  return content;
}

TEST_F(SliceGatesTest, PartitionsFollowOnceTheServerHasKeptTheirCounters) {
  start();
  want(partitioned_pool());
  EXPECT_TRUE(converges());
  expect_published(partitioned_pool());
  EXPECT_THAT(publisher.status().disabled_gates, IsEmpty());
  cluster.forget_calls();
  cluster.wipe_slices();
  EXPECT_TRUE(converges());
  EXPECT_EQ(cluster.writes(), 2u) << "the gate is known now";
}

TEST_F(SliceGatesTest, APartitionIsNeverPublishedWithoutItsCounters) {
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

TEST_F(SliceGatesTest, AnUnhealthyDeviceIsWithheldIfTheServerDropsTaints) {
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

TEST_F(SliceGatesTest, FindsOutWhichTaintsTheServerTakes) {
  start();
  PoolContent content = numbered_pool(2);
  content.devices[0] = tainted_device(numbered(0), "None");
  content.devices[1] = tainted_device(numbered(1));
  // Kubernetes 1.34 refuses the effect.
  cluster.fail_next(Verb::kCreate, 1, {Code::kInvalidArgument, "spec.devices[0].taints[0].effect: Unsupported value"});
  want(content);
  EXPECT_TRUE(converges());
  PoolContent without = content;
  without.devices[0].taints.clear();
  expect_published(without);
  EXPECT_THAT(publisher.status().disabled_gates, IsEmpty());
  EXPECT_EQ(publisher.status().pools.at("node7").rejection, "");

  // The server is upgraded, which ends its watches.
  cluster.end_watches(fail(Code::kUnavailable, "connection reset"));
  EXPECT_TRUE((pass(100ms), converges()));
  expect_published(content);
}

TEST_F(SliceGatesTest, FindsOutThatTheServerTakesWholeAmountsOnly) {
  start();
  PoolContent content = numbered_pool(1);
  content.devices.push_back(shared_device("halves"));
  content.devices[1].policies["memory"] = {.default_amount = Quantity{.value = 1},
                                           .values = {Quantity{.value = 500, .exp10 = -3}, Quantity{.value = 1}}};
  // Kubernetes 1.36 refuses the values.
  cluster.fail_next(Verb::kCreate, 1, {Code::kInvalidArgument, "requestPolicy.validValues[1]: Duplicate value: \"1\""});
  want(content);
  EXPECT_TRUE(converges());
  expect_published(numbered_pool(1));
  EXPECT_THAT(publisher.status().disabled_gates, ElementsAre("DRAFractionalCapacityRange"));
  EXPECT_THAT(publisher.status().pools.at("node7").withheld, SizeIs(1));

  // The server is upgraded, which ends its watches.
  cluster.end_watches(fail(Code::kUnavailable, "connection reset"));
  EXPECT_TRUE((pass(100ms), converges()));
  expect_published(content);
}

TEST_F(SliceGatesTest, FindsOutThatTheServerTakesNoLists) {
  start();
  PoolContent content = numbered_pool(2);
  content.devices[1].attributes["ports"] = std::vector<std::int64_t>{1, 2};
  content.devices[1].attributes[kNumaNodeAttribute] = std::vector<std::int64_t>{1, 0};
  cluster.fail_next(Verb::kCreate, 1,
                    {Code::kInvalidArgument, "attributes[ports]: exactly one value must be specified"});
  want(content);
  EXPECT_TRUE(converges());
  PoolContent without = content;
  without.devices[1].attributes.erase("ports");
  without.devices[1].attributes[kNumaNodeAttribute] = std::int64_t{1};
  expect_published(without);
  EXPECT_THAT(publisher.status().disabled_gates, ElementsAre("DRAListTypeAttributes"));

  // The server is upgraded, which ends its watches.
  cluster.end_watches(fail(Code::kUnavailable, "connection reset"));
  EXPECT_TRUE((pass(100ms), converges()));
  expect_published(content);
}

TEST_F(SliceGatesTest, ADeviceIsWithheldIfTheServerDropsItsBindingConditions) {
  cluster.on_store([](Slice& slice) {
    for (SliceDevice& device : slice.devices) device.binding = {};
  });
  start();
  PoolContent content = numbered_pool(1);
  content.devices.push_back(bound_device("later"));
  want(content);
  EXPECT_TRUE(converges());
  expect_published(numbered_pool(1));
  EXPECT_THAT(publisher.status().disabled_gates, ElementsAre("DRADeviceBindingConditions"));
  EXPECT_THAT(publisher.status().pools.at("node7").withheld, SizeIs(1));

  // The server is upgraded, which ends its watches.
  cluster.on_store({});
  cluster.end_watches(fail(Code::kUnavailable, "connection reset"));
  EXPECT_TRUE((pass(100ms), converges()));
  expect_published(content);
}

TEST_F(SliceGatesTest, CallsMayBeLeftOutWhereTheNodesKubeletDeclaresThat) {
  const auto skipped = [this] { return stored().at(0).skip_node_operations; };
  start();
  PoolContent content = numbered_pool(2);
  content.no_prepare = true;
  want(content);
  ASSERT_TRUE(converges());
  EXPECT_THAT(skipped(), IsEmpty()) << "the scheduler would send no pod to the node";

  // The kubelet is upgraded, and wipes the slices when it starts.
  cluster.put_node("node7", "node-uid", {"DRAOptionalNodeOperations"});
  cluster.wipe_slices();
  ASSERT_TRUE(converges());
  EXPECT_THAT(skipped(), ElementsAre("NodePrepareResources", "NodeUnprepareResources"));
  expect_published(content);

  // An older kubelet wipes the slices before its Node shows the missing feature.
  cluster.wipe_slices();
  ASSERT_TRUE(converges());
  cluster.put_node("node7", "node-uid");
  pass(21s, 1s);
  EXPECT_TRUE((pass(100ms), converges()));
  EXPECT_THAT(skipped(), IsEmpty());

  // Its features are read at the end of a watch, too.
  cluster.put_node("node7", "node-uid", {"DRAOptionalNodeOperations"});
  pass(200s, 10s);
  cluster.put_node("node7", "node-uid");
  cluster.end_watches();
  EXPECT_TRUE((pass(100ms), converges()));
  EXPECT_THAT(skipped(), IsEmpty());
}

TEST_F(SliceGatesTest, ADeviceThatNeedsAPrepareEndsThatCallsAreLeftOut) {
  cluster.put_node("node7", "node-uid", {"DRAOptionalNodeOperations"});
  start();
  PoolContent content = numbered_pool(2);
  content.no_prepare = true;
  want(content);
  ASSERT_TRUE(converges());
  EXPECT_THAT(stored().at(0).skip_node_operations, SizeIs(2));
  content.no_prepare = false;
  want(content);
  ASSERT_TRUE(converges());
  EXPECT_THAT(stored().at(0).skip_node_operations, IsEmpty());
  expect_published(content);
}

TEST_F(SliceGatesTest, AServerThatDropsTheCallsToLeaveOutIsNotAskedAgain) {
  cluster.put_node("node7", "node-uid", {"DRAOptionalNodeOperations"});
  cluster.on_store([](Slice& slice) { slice.skip_node_operations.clear(); });
  start();
  PoolContent content = numbered_pool(2);
  content.no_prepare = true;
  want(content);
  ASSERT_TRUE(converges());
  EXPECT_THAT(publisher.status().disabled_gates, IsEmpty()) << "no device needs the gate";
  cluster.forget_calls();
  cluster.wipe_slices();
  ASSERT_TRUE(converges());
  EXPECT_EQ(cluster.writes(), 1u);
}

TEST_F(SliceGatesTest, ARefusalForAnotherReasonCostsOtherPoolsNoTaint) {
  start();
  PoolContent content = numbered_pool(1);
  content.devices[0] = tainted_device(numbered(0), "None");
  cluster.fail_next(Verb::kCreate, 2, {Code::kInvalidArgument, "spec.driver: Invalid value"});
  want(content);
  pass(400ms);
  EXPECT_THAT(publisher.status().pools.at("node7").rejection, testing::HasSubstr("spec.driver"));
  content.devices[0].taints[0].value = "Other";
  want(content);
  EXPECT_TRUE(converges());
  expect_published(content);
}

TEST_F(SliceGatesTest, ChangesByAWebhookAreAccepted) {
  cluster.on_store([](Slice& slice) {
    for (SliceDevice& device : slice.devices) device.attributes["added"] = true;
  });
  start();
  want(numbered_pool(3));
  EXPECT_TRUE(converges());
  EXPECT_EQ(cluster.writes(), 1u);
  cluster.end_watches(fail(Code::kOutOfRange, "gone"));
  pass(1min, 1s);
  EXPECT_EQ(cluster.writes(), 1u) << "a new list causes no write";
  want(numbered_pool(4));
  EXPECT_TRUE(converges());
  EXPECT_EQ(cluster.writes(), 2u);
}

TEST_F(SliceGatesTest, FindsTheCounterPlacementThatTheServerAccepts) {
  start();
  want(numbered_pool(2));
  ASSERT_TRUE(converges());
  // Kubernetes 1.34: a device may only consume counters of its own slice.
  cluster.fail_next(Verb::kUpdate, 1, {Code::kInvalidArgument, "spec.devices[2].consumesCounters[0]: not found"});
  want(partitioned_pool());
  EXPECT_TRUE(converges());
  expect_published(partitioned_pool());
}

}  // namespace
}  // namespace cardcage
