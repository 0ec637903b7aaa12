#include "host/slices/slice_plan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <random>

#include "host/model/naming.h"
#include "host/slices/slice_layout.h"
#include "tests/fakes/every_trait.h"
#include "tests/unit/slices/slice_pool.h"

namespace cardcage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kLastGeneration = std::numeric_limits<std::int64_t>::max();

// Plans against slices that the fixture stores as the API server would.
class SlicePlanTest : public testing::Test {
 protected:
  SlicePlan plan(const PoolContent& content) {
    FeatureGates gates;
    gates.partitionable = FeatureGates::State::kOn;
    const auto view = view_pool(shared(content), placement, gates);
    std::vector<const Slice*> pointers;
    for (const Slice& slice : stored) pointers.push_back(&slice);
    return plan_slices(owner, "node7", *view, pointers);
  }
  // Plans, writes, and returns the plan.
  SlicePlan publish(const PoolContent& content) {
    SlicePlan next = plan(content);
    for (const Slice& slice : next.deletes) erase(slice.name);
    for (const Slice& slice : next.updates) *find(slice.name) = stored_form(slice);
    for (const Slice& slice : next.creates) stored.push_back(stored_form(slice));
    EXPECT_TRUE(plan(content).empty()) << "an executed plan leaves nothing to do";
    EXPECT_EQ(stored.size(), next.slices);
    EXPECT_EQ(consumer_view(stored).flaw, "");
    EXPECT_TRUE(consumer_view(stored).complete);
    for (const Slice& slice : stored) EXPECT_EQ(slice_flaw(slice, placement), std::nullopt);
    return next;
  }
  Slice stored_form(Slice slice) {
    if (slice.name.empty()) slice.name = fmt::format("{}{:05}", slice.generate_name, ++generated);
    slice.uid = "uid-" + slice.name;
    slice.resource_version = std::to_string(++version);
    for (SliceDevice& device : slice.devices)
      for (DeviceTaint& taint : device.taints)
        if (taint.time_added.empty()) taint.time_added = fmt::format("2026-01-01T00:00:{:02}Z", version % 60);
    return slice;
  }
  std::vector<Slice>::iterator find(const std::string& name) { return std::ranges::find(stored, name, &Slice::name); }
  void erase(const std::string& name) { stored.erase(find(name)); }

  SliceOwner owner{"gpu.example.com", "node7", "node-uid"};
  CounterPlacement placement = CounterPlacement::kSeparate;
  std::vector<Slice> stored;
  int version = 0, generated = 0;
};

TEST_F(SlicePlanTest, APoolWithoutDevicesHasOneEmptySlice) {
  const SlicePlan first = publish({});
  ASSERT_THAT(first.creates, SizeIs(1));
  EXPECT_THAT(first.creates[0].devices, IsEmpty());
  EXPECT_EQ(first.creates[0].pool, (SlicePool{"node7", 1, 1}));
  EXPECT_EQ(first.creates[0].generate_name, "00000-gpu.example.com-node7-");
  EXPECT_EQ(first.creates[0].owner_node_uid, "node-uid");
}

TEST_F(SlicePlanTest, AFreshPoolIsFilledInOrder) {
  const SlicePlan first = publish(numbered_pool(10'000));
  ASSERT_THAT(first.creates, SizeIs(79));
  std::size_t number = 0;
  for (std::size_t i = 0; i < first.creates.size(); ++i) {
    EXPECT_EQ(slice_index(first.creates[i].generate_name), i);
    EXPECT_EQ(first.creates[i].pool, (SlicePool{"node7", 1, 79}));
    for (const SliceDevice& device : first.creates[i].devices) EXPECT_EQ(device.name, numbered(number++));
  }
  EXPECT_EQ(number, 10'000u);
}

TEST_F(SlicePlanTest, ASliceWithASpecialDeviceHoldsHalfAsMany) {
  PoolContent content = numbered_pool(128);
  publish(content);
  EXPECT_THAT(stored, SizeIs(1));
  content.devices[100] = tainted_device(numbered(100));
  publish(content);
  EXPECT_THAT(stored, SizeIs(2));
  content.devices[100] = plain_device(numbered(100));
  EXPECT_EQ(publish(content).writes(), 1u) << "recovery keeps the split and the generation";
  content.devices[100] = tainted_device(numbered(100));
  EXPECT_EQ(publish(content).writes(), 1u);
}

TEST_F(SlicePlanTest, OneChangedSliceKeepsTheGeneration) {
  PoolContent content = numbered_pool(300);
  publish(content);
  content.devices[200].attributes["model"] = std::int64_t{2};
  const SlicePlan next = publish(content);
  ASSERT_THAT(next.updates, SizeIs(1));
  EXPECT_EQ(next.writes(), 1u);
  EXPECT_EQ(next.updates[0].pool, (SlicePool{"node7", 1, 3}));
  EXPECT_EQ(next.updates[0].name, stored[1].name);
  EXPECT_EQ(next.updates[0].uid, stored[1].uid);
  EXPECT_NE(next.updates[0].resource_version, "");
}

TEST_F(SlicePlanTest, TwoChangedSlicesGetANewGenerationInEverySlice) {
  PoolContent content = numbered_pool(300);
  publish(content);
  content.devices[0].attributes["model"] = std::int64_t{2};
  content.devices[200].attributes["model"] = std::int64_t{2};
  const SlicePlan next = publish(content);
  EXPECT_THAT(next.updates, SizeIs(3));
  for (const Slice& slice : next.updates) EXPECT_EQ(slice.pool, (SlicePool{"node7", 2, 3}));
}

TEST_F(SlicePlanTest, AHotPlugAmongTenThousandWritesOneSlice) {
  PoolContent content = numbered_pool(10'000);
  publish(content);
  content.devices.insert(content.devices.begin(), plain_device("a-new-one"));
  EXPECT_EQ(publish(content).writes(), 1u);
  content.devices.erase(content.devices.begin() + 5'000);
  EXPECT_EQ(publish(content).writes(), 1u);
  content.devices[3'000] = plain_device("replacement");
  EXPECT_EQ(publish(content).writes(), 1u) << "the replacement takes the place of a removed device";
}

TEST_F(SlicePlanTest, AFullPoolGrowsBySlicesUnderANewGeneration) {
  publish(numbered_pool(128));
  const SlicePlan next = publish(numbered_pool(129));
  EXPECT_THAT(next.updates, SizeIs(1));
  EXPECT_THAT(next.creates, SizeIs(1));
  EXPECT_EQ(next.generation, 2);
  EXPECT_EQ(publish(numbered_pool(128)).writes(), 1u) << "the slice stays, now empty";
}

TEST_F(SlicePlanTest, APoolThatShrankMuchIsLaidOutAfresh) {
  publish(numbered_pool(1'000));
  const SlicePlan next = publish(numbered_pool(100));
  EXPECT_EQ(next.slices, 1u);
  EXPECT_THAT(next.deletes, SizeIs(7));
  EXPECT_THAT(next.updates, SizeIs(1));
}

TEST_F(SlicePlanTest, WipedSlicesComeBackUnderTheSameGeneration) {
  const PoolContent content = numbered_pool(500);
  publish(content);
  publish(numbered_pool(499));
  publish(content);
  const std::int64_t generation = stored[0].pool.generation;
  stored.erase(stored.begin() + 1, stored.begin() + 3);
  const SlicePlan next = publish(content);
  EXPECT_THAT(next.creates, SizeIs(2));
  EXPECT_EQ(next.writes(), 2u);
  EXPECT_EQ(next.generation, generation);
  stored.clear();
  EXPECT_EQ(publish(content).generation, 1);
}

TEST_F(SlicePlanTest, AnInterruptedRewriteIsCompletedNotRepeated) {
  PoolContent content = numbered_pool(500);
  publish(content);
  for (SliceDevice& device : content.devices) device.attributes["model"] = std::int64_t{2};
  const SlicePlan rewrite = plan(content);
  ASSERT_THAT(rewrite.updates, SizeIs(4));
  for (std::size_t i : {0u, 2u}) *find(rewrite.updates[i].name) = stored_form(rewrite.updates[i]);
  EXPECT_FALSE(consumer_view(stored).complete);
  const SlicePlan rest = publish(content);
  EXPECT_EQ(rest.generation, 2);
  EXPECT_EQ(rest.writes(), 2u);
}

TEST_F(SlicePlanTest, TheFormThatTheServerReturnsIsNotAChange) {
  PoolContent content = numbered_pool(1);
  content.devices[0] = tainted_device("gpu-0");
  content.devices[0].capacity["memory"] = Quantity{.value = 1024LL << 20, .format = Quantity::Format::kBinary};
  content.devices[0].capacity["clock"] = Quantity{.value = 1500, .exp10 = 0};
  publish(content);
  stored[0].devices[0].capacity["clock"] = Quantity{.value = 15, .exp10 = 2};
  stored[0].devices[0].capacity["memory"] = Quantity::parse("1Gi").value();
  EXPECT_NE(stored[0].devices[0].taints[0].time_added, "");
  EXPECT_TRUE(plan(content).empty());
}

TEST_F(SlicePlanTest, ATaintKeepsItsTimeWhereverItsDeviceGoes) {
  PoolContent content = numbered_pool(128);
  content.devices[0] = tainted_device(numbered(0));
  publish(content);
  const std::string since = stored[0].devices[0].taints[0].time_added;
  content.devices[0].attributes["model"] = std::int64_t{2};
  content.devices[1] = tainted_device(numbered(1));
  publish(content);
  EXPECT_EQ(stored[0].devices[0].taints[0].time_added, since);
  EXPECT_NE(stored[0].devices[1].taints[0].time_added, since);
  content.devices[0].taints[0].value = "Other";
  EXPECT_EQ(plan(content).updates.at(0).devices[0].taints[0].time_added, "") << "another taint gets another time";
}

TEST_F(SlicePlanTest, ForeignChangesAreCorrected) {
  const PoolContent content = numbered_pool(2);
  publish(content);
  stored[0].devices.pop_back();
  EXPECT_EQ(publish(content).writes(), 1u);
  stored[0].pool.slice_count = 7;
  EXPECT_EQ(publish(content).writes(), 1u);
  std::swap(stored[0].devices[0], stored[0].devices[1]);
  EXPECT_EQ(publish(content).writes(), 1u);
  stored[0].pool.generation = 9;
  EXPECT_TRUE(plan(content).empty()) << "any generation is good if all slices have it";
}

TEST_F(SlicePlanTest, AForeignChangeOfARequestPolicyIsCorrected) {
  PoolContent content;
  content.devices = {shared_device("gpu-0")};
  publish(content);
  RequestPolicy& policy = stored[0].devices[0].policies["memory"];
  policy.step = Quantity::parse("4096Mi").value();
  EXPECT_TRUE(plan(content).empty()) << "the same amount in another notation";
  policy.step = Quantity::parse("2Gi").value();
  EXPECT_EQ(publish(content).writes(), 1u);
  stored[0].devices[0].policies.clear();
  EXPECT_EQ(publish(content).writes(), 1u);
}

TEST_F(SlicePlanTest, AForeignChangeOfTheCallsToLeaveOutIsCorrected) {
  const PoolContent content = numbered_pool(2);
  publish(content);
  stored[0].skip_node_operations = {"*"};
  const SlicePlan correction = publish(content);
  ASSERT_THAT(correction.updates, SizeIs(1));
  EXPECT_THAT(correction.updates[0].skip_node_operations, IsEmpty());
}

TEST(SliceLayoutTest, DevicesDifferInEachTrait) {
  const SliceDevice wanted{every_trait(), "gpu-0", {}};
  SliceDevice stored = wanted;
  const auto lose = [&]<class Trait>(std::string_view name, Trait& trait) {
    const Trait before = std::exchange(trait, Trait{});
    EXPECT_FALSE(is_same(wanted, stored)) << name;
    trait = before;
  };
  describe(lose, stored);
  EXPECT_TRUE(is_same(wanted, stored));
}

TEST_F(SlicePlanTest, AReplacedNodeOnlyChangesTheOwner) {
  const PoolContent content = numbered_pool(300);
  publish(content);
  owner.node_uid = "new-uid";
  const SlicePlan next = publish(content);
  EXPECT_THAT(next.updates, SizeIs(3));
  EXPECT_EQ(next.generation, 1);
}

TEST_F(SlicePlanTest, StrangersAndDuplicatesAreDeleted) {
  const PoolContent content = numbered_pool(1);
  publish(content);
  for (const char* name : {"node7-gpu.example.com-abcde", "0-x", "00001-gpu", "fffff-gpu", "zzzzz-x", "000000-x",
                           "ffffffffffffffffffff-x"}) {
    Slice stranger = stored[0];
    stranger.name = name;
    stranger.pool.generation = 1;
    stored.push_back(stranger);
  }
  Slice duplicate = stored[0];
  duplicate.name = "00000-zz";
  stored.push_back(duplicate);
  const SlicePlan next = publish(content);
  EXPECT_THAT(next.deletes, SizeIs(8));
  EXPECT_THAT(stored, SizeIs(1));
  EXPECT_EQ(next.generation, 1);
}

TEST_F(SlicePlanTest, ANewerDuplicateWins) {
  const PoolContent content = numbered_pool(1);
  publish(content);
  Slice newer = stored[0];
  newer.name = "00000-zz";
  newer.pool.generation = 4;
  stored.push_back(newer);
  const SlicePlan next = publish(content);
  EXPECT_THAT(next.deletes, ElementsAre(testing::Field(&Slice::pool, (SlicePool{"node7", 1, 1}))));
  EXPECT_EQ(next.writes(), 1u);
  EXPECT_EQ(next.generation, 4);
}

TEST_F(SlicePlanTest, AfterTheLastGenerationThePoolStartsOver) {
  PoolContent content = numbered_pool(300);
  publish(content);
  for (Slice& slice : stored) slice.pool.generation = kLastGeneration;
  content.devices[0].attributes["model"] = std::int64_t{2};
  EXPECT_EQ(publish(content).generation, kLastGeneration);
  content.devices[1].attributes["model"] = std::int64_t{2};
  content.devices[200].attributes["model"] = std::int64_t{2};
  const SlicePlan next = publish(content);
  EXPECT_EQ(next.generation, 1);
  EXPECT_THAT(next.deletes, SizeIs(3));
  EXPECT_THAT(next.creates, SizeIs(3));
}

TEST_F(SlicePlanTest, CountersHaveSlicesOfTheirOwn) {
  PoolContent content = numbered_pool(3);
  for (int i = 0; i < 10; ++i) {
    const std::string set = fmt::format("card-{}", i);
    content.counters[set] = slots(4);
    for (int part = 0; part < 4; ++part) content.devices.push_back(partition(fmt::format("{}-{}", set, part), set));
  }
  publish(content);
  ASSERT_THAT(stored, SizeIs(3));
  EXPECT_THAT(stored[0].shared_counters, SizeIs(8));
  EXPECT_THAT(stored[1].shared_counters, SizeIs(2));
  EXPECT_THAT(stored[2].devices, SizeIs(43));
  content.counters["card-9"] = slots(5);
  EXPECT_EQ(publish(content).writes(), 1u);
  content.counters.erase("card-0");
  std::erase_if(content.devices, [](const SliceDevice& device) { return device.name.starts_with("card-0"); });
  EXPECT_EQ(publish(content).generation, 2);
  content.counters.clear();
  std::erase_if(content.devices, [](const SliceDevice& device) { return !device.consumes.empty(); });
  publish(content);
}

TEST_F(SlicePlanTest, Kubernetes134WantsCountersBesideTheirConsumers) {
  placement = CounterPlacement::kCombined;
  PoolContent content = numbered_pool(2);
  content.counters = {{"a", slots(2)}, {"b", slots(2)}, {"c", slots(2)}};
  content.devices.push_back(partition("a-0", "a"));
  content.devices.push_back(partition("c-0", "c"));
  content.devices.push_back(partition("ab-0", "b"));
  content.devices.back().consumes.push_back({"a", slots(1)});
  publish(content);
  ASSERT_THAT(stored, SizeIs(3));
  EXPECT_THAT(stored[0].shared_counters, IsEmpty());
  EXPECT_THAT(stored[0].devices, SizeIs(2));
  EXPECT_THAT(stored[1].shared_counters, SizeIs(2));
  EXPECT_THAT(stored[1].devices, SizeIs(2));
  EXPECT_THAT(stored[2].shared_counters, SizeIs(1));
  content.devices[2].attributes["model"] = std::int64_t{2};
  EXPECT_EQ(publish(content).writes(), 1u);
  placement = CounterPlacement::kSeparate;
  EXPECT_EQ(publish(content).generation, 2);
}

TEST_F(SlicePlanTest, NameBasesAreNamesAndKeepTheirIndex) {
  EXPECT_EQ(slice_name_base(42, "gpu.example.com", "node7"), "0002a-gpu.example.com-node7-");
  for (std::size_t size = 1; size <= 63; ++size) {
    const std::string base =
        slice_name_base(1, std::string(size - 1, 'd') + "e", "node.with.dots.and-dashes.example.com");
    EXPECT_LE(base.size(), 58u);
    EXPECT_TRUE(is_dns_subdomain(base + "abcde")) << base;
    EXPECT_EQ(slice_index(base), 1u);
  }
  EXPECT_EQ(slice_index("100000-x"), 0x100000u);
  for (const char* bad : {"", "-", "1-x", "0000-x", "000000-x", "0000g-x", "abcdef", "+0001-x"})
    EXPECT_EQ(slice_index(bad), std::nullopt) << bad;
}

// After any change, every state that a consumer can see between two writes is either incomplete, or valid and made of
// devices that are or were wanted.
TEST_F(SlicePlanTest, RandomChangesNeverShowAConsumerAnInvalidPool) {
  std::mt19937 random(7u + static_cast<unsigned>(GTEST_FLAG_GET(random_seed)));
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  for (int round = 0; round < 150; ++round) {
    if (below(10) == 0) stored.clear();
    PoolContent content;
    for (std::size_t i = 0, count = below(400); i < count; ++i)
      content.devices.push_back(below(50) == 0 ? tainted_device(numbered(below(400)))
                                               : plain_device(numbered(i), static_cast<std::int64_t>(below(20) == 0)));
    if (below(3) == 0) content.counters["card"] = slots(4);
    if (below(3) == 0) content.devices.push_back(partition("part", "card"));
    std::ranges::sort(content.devices, {}, &SliceDevice::name);
    if (!stored.empty() && below(4) == 0)
      stored.erase(stored.begin() + static_cast<std::ptrdiff_t>(below(stored.size())));
    if (!stored.empty() && below(4) == 0)
      stored[below(stored.size())].pool.generation += static_cast<std::int64_t>(below(3));

    std::set<std::string> known;
    for (const Slice& slice : stored)
      for (const SliceDevice& device : slice.devices) known.insert(device.name);
    for (const SliceDevice& device : content.devices) known.insert(device.name);
    const bool valid_before = consumer_view(stored).flaw.empty();
    const SlicePlan next = plan(content);
    const auto before = stored;
    const auto check = [&] {
      const ConsumerView seen = consumer_view(stored);
      EXPECT_TRUE(!seen.complete || !valid_before || seen.flaw.empty()) << seen.flaw;
      EXPECT_TRUE(std::ranges::includes(known, seen.devices));
    };
    for (const Slice& slice : next.deletes) erase(slice.name), check();
    for (const Slice& slice : next.updates) *find(slice.name) = stored_form(slice), check();
    for (const Slice& slice : next.creates) stored.push_back(stored_form(slice)), check();
    stored = before;
    publish(content);
  }
}

}  // namespace
}  // namespace cardcage
