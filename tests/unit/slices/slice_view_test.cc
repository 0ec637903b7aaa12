#include "host/slices/slice_view.h"

#include <gmock/gmock.h>

#include "tests/unit/slices/slice_pool.h"

namespace cardcage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

FeatureGates all_on() {
  FeatureGates gates;
  gates.partitionable = FeatureGates::State::kOn;
  return gates;
}

std::string flaw(const SliceDevice& device) { return flaw_of(device, {{"card", slots(4)}}).value_or("none"); }

std::vector<std::string> names(const PoolView& view) {
  std::vector<std::string> out;
  for (const SliceDevice* device : view.devices) out.push_back(device->name);
  return out;
}

TEST(SliceView, FindsDevicesThatTheApiServerWouldRefuse) {
  EXPECT_EQ(flaw(plain_device("gpu-0")), "none");
  EXPECT_EQ(flaw(partition("gpu-0", "card")), "none");
  EXPECT_EQ(flaw(tainted_device("gpu-0")), "none");
  EXPECT_THAT(flaw(plain_device("GPU_0")), HasSubstr("not a DNS label"));

  SliceDevice device = plain_device("gpu-0");
  device.attributes["bad-name"] = true;
  EXPECT_THAT(flaw(device), HasSubstr("attribute 'bad-name'"));
  device = plain_device("gpu-0");
  device.capacity["bad-name"] = Quantity{};
  EXPECT_THAT(flaw(device), HasSubstr("capacity 'bad-name'"));
  for (const AttributeValue& value :
       {AttributeValue(std::string(65, 'x')), AttributeValue(std::string("\xff")), AttributeValue(SemVer{"1.2"}),
        AttributeValue(std::vector<std::int64_t>{}), AttributeValue(std::vector<SemVer>{{"1.2.3"}, {"x"}})}) {
    device = plain_device("gpu-0");
    device.attributes["value"] = value;
    EXPECT_THAT(flaw(device), HasSubstr("attribute 'value'"));
  }
  device = plain_device("gpu-0");
  for (int i = 0; i < 31; ++i) device.attributes[fmt::format("a{}", i)] = true;
  EXPECT_THAT(flaw(device), HasSubstr("more than 32"));
  device = plain_device("gpu-0");
  device.attributes["list"] = std::vector<std::int64_t>(48, 1);
  EXPECT_THAT(flaw(device), HasSubstr("more than 48"));
}

TEST(SliceView, FindsCountersAndTaintsThatTheApiServerWouldRefuse) {
  EXPECT_THAT(flaw(partition("p", "other")), HasSubstr("'other'"));
  SliceDevice device = partition("p", "card");
  device.consumes[0].counters["memory"] = Quantity{};
  EXPECT_THAT(flaw(device), HasSubstr("no counter 'memory'"));
  device = partition("p", "card");
  device.consumes.push_back(device.consumes[0]);
  EXPECT_THAT(flaw(device), HasSubstr("twice"));
  device.consumes.push_back(device.consumes[0]);
  EXPECT_THAT(flaw(device), HasSubstr("more than 2 sets"));
  device.consumes = {{"card", {}}};
  EXPECT_THAT(flaw(device), HasSubstr("consumes nothing"));
  EXPECT_THAT(flaw_of(partition("p", "Card"), {{"Card", slots(1)}}).value_or(""), HasSubstr("not a valid counter set"));

  device = tainted_device("gpu-0", "Sometimes");
  EXPECT_THAT(flaw(device), HasSubstr("unknown effect 'Sometimes'"));
  device = tainted_device("gpu-0");
  device.taints[0].key = "a b";
  EXPECT_THAT(flaw(device), HasSubstr("no valid key"));
  device = tainted_device("gpu-0");
  device.taints[0].value = "a b";
  EXPECT_THAT(flaw(device), HasSubstr("no valid value"));
  device.taints.assign(17, tainted_device("x").taints[0]);
  EXPECT_THAT(flaw(device), HasSubstr("more than 16"));
}

TEST(SliceView, FindsRequestPoliciesThatTheApiServerWouldRefuse) {
  SliceDevice device = shared_device("gpu-0");
  EXPECT_EQ(flaw(device), "none");
  device.shared = false;
  EXPECT_THAT(flaw(device), HasSubstr("the device is not shared"));
  device = shared_device("gpu-0");
  device.policies["memory"].step = Quantity{.value = 5};
  EXPECT_THAT(flaw(device), HasSubstr("a multiple of validRange.step 5"));
  device.policies = {{"cores", {.default_amount = Quantity{.value = 1}}}};
  EXPECT_THAT(flaw(device), HasSubstr("capacity 'cores', which the device lacks"));
}

TEST(SliceView, FindsBindingConditionsThatTheApiServerWouldRefuse) {
  SliceDevice device = bound_device("gpu-0");
  EXPECT_EQ(flaw(device), "none");
  device.binding.failures = {"Ready"};
  EXPECT_THAT(flaw(device), HasSubstr("condition 'Ready' comes twice"));
}

TEST(SliceView, OneBadDeviceDoesNotHideTheOthers) {
  PoolContent content = numbered_pool(3);
  content.devices[1].attributes["bad-name"] = true;
  content.devices.push_back(plain_device(numbered(0)));
  const auto view = view_pool(shared(content), CounterPlacement::kSeparate, all_on());
  EXPECT_THAT(names(*view), ElementsAre(numbered(0), numbered(2)));
  ASSERT_THAT(view->withheld, SizeIs(2));
  EXPECT_EQ(view->withheld[0].name, numbered(1));
  EXPECT_THAT(view->withheld[1].reason, HasSubstr("same name"));
}

TEST(SliceView, PartitionsWaitUntilTheServerIsKnownToKeepCounters) {
  PoolContent content;
  content.counters = {{"card", slots(2)}, {"Bad", slots(1)}};
  content.devices = {plain_device("whole"), partition("part-0", "card"), partition("part-1", "Bad")};
  FeatureGates gates;
  const auto unknown = view_pool(shared(content), CounterPlacement::kSeparate, gates);
  EXPECT_THAT(names(*unknown), ElementsAre("whole"));
  EXPECT_THAT(unknown->withheld[0].reason, HasSubstr("the cluster has not yet shown"))
      << "the embedded node has no API server";
  EXPECT_THAT(unknown->counters, SizeIs(1));
  EXPECT_THAT(names(*view_pool(shared(content), CounterPlacement::kSeparate, all_on())),
              ElementsAre("whole", "part-0"));
  gates.partitionable = FeatureGates::State::kOff;
  const auto off = view_pool(shared(content), CounterPlacement::kSeparate, gates);
  EXPECT_THAT(names(*off), ElementsAre("whole"));
  EXPECT_THAT(off->counters, IsEmpty());
  EXPECT_THAT(off->withheld[0].reason, HasSubstr("DRAPartitionableDevices"));
}

TEST(SliceView, LeavesOutFieldsThatDisabledGatesWouldDrop) {
  PoolContent content;
  content.devices = {plain_device("list"), plain_device("multiple"), tainted_device("sick"),
                     tainted_device("note", "None")};
  content.devices[0].attributes["ports"] = std::vector<std::int64_t>{1, 2};
  content.devices[1] = shared_device("multiple");
  FeatureGates gates;
  gates.taints = gates.consumable_capacity = gates.list_attributes = false;
  const auto view = view_pool(shared(content), CounterPlacement::kSeparate, gates);
  EXPECT_THAT(names(*view), ElementsAre("list", "multiple", "note"));
  EXPECT_FALSE(view->devices[0]->attributes.contains("ports"));
  EXPECT_TRUE(view->devices[0]->attributes.contains("model"));
  EXPECT_FALSE(view->devices[1]->shared);
  EXPECT_THAT(view->devices[1]->policies, IsEmpty());
  EXPECT_THAT(view->devices[2]->taints, IsEmpty());
  EXPECT_THAT(view->withheld, ElementsAre(testing::Field(&WithheldDevice::reason, HasSubstr("DRADeviceTaints"))));
}

TEST(SliceView, WithholdsPoliciesThatNeedFractionsFromAServerWithoutThem) {
  PoolContent content;
  content.devices = {shared_device("whole"), shared_device("halves")};
  content.devices[1].policies["memory"] = {.default_amount = Quantity{.value = 1},
                                           .values = {Quantity{.value = 500, .exp10 = -3}, Quantity{.value = 1}}};
  FeatureGates gates = all_on();
  EXPECT_THAT(names(*view_pool(shared(content), CounterPlacement::kSeparate, gates)), ElementsAre("whole", "halves"));
  gates.fractional_capacity = false;
  const auto view = view_pool(shared(content), CounterPlacement::kSeparate, gates);
  EXPECT_THAT(names(*view), ElementsAre("whole"));
  EXPECT_THAT(view->withheld[0].reason, HasSubstr("DRAFractionalCapacityRange"));
  gates.consumable_capacity = false;
  EXPECT_THAT(names(*view_pool(shared(content), CounterPlacement::kSeparate, gates)), ElementsAre("whole", "halves"))
      << "the server drops the policies before it validates them";
  EXPECT_THAT(gates.off(), testing::Contains("DRAFractionalCapacityRange"));
  gates.forget_off();
  EXPECT_TRUE(gates.fractional_capacity);
}

TEST(SliceView, WithholdsADeviceThatWouldBeGivenBeforeItIsReady) {
  PoolContent content;
  content.devices = {plain_device("ready"), bound_device("later")};
  FeatureGates gates = all_on();
  EXPECT_THAT(names(*view_pool(shared(content), CounterPlacement::kSeparate, gates)), ElementsAre("ready", "later"));
  Slice sent, stored;
  sent.devices = stored.devices = content.devices;
  gates.learn(sent, stored);
  EXPECT_THAT(gates.off(), IsEmpty());
  stored.devices[1].binding = {};
  gates.learn(sent, stored);
  EXPECT_THAT(gates.off(), ElementsAre("DRADeviceBindingConditions"));
  const auto view = view_pool(shared(content), CounterPlacement::kSeparate, gates);
  EXPECT_THAT(names(*view), ElementsAre("ready"));
  EXPECT_THAT(view->withheld[0].reason, HasSubstr("enable its feature gates DRADeviceBindingConditions"));
  gates.forget_off();
  EXPECT_TRUE(gates.binding_conditions);
}

TEST(SliceView, LeavesOutTaintsThatKubernetes134Refuses) {
  PoolContent content;
  content.devices = {tainted_device("sick"), tainted_device("note", "None"), plain_device("many")};
  for (int i = 0; i < 6; ++i)
    content.devices[2].taints.push_back({fmt::format("example.com/{}", i), "", i < 5 ? "NoSchedule" : "None", ""});
  FeatureGates gates = all_on();
  EXPECT_EQ(view_pool(shared(content), CounterPlacement::kSeparate, gates)->devices[2]->taints.size(), 6u);
  gates.taints_of_1_35 = false;
  const auto view = view_pool(shared(content), CounterPlacement::kSeparate, gates);
  EXPECT_THAT(names(*view), ElementsAre("sick", "note", "many"));
  EXPECT_THAT(view->devices[0]->taints, SizeIs(1));
  EXPECT_THAT(view->devices[1]->taints, IsEmpty());
  ASSERT_THAT(view->devices[2]->taints, SizeIs(4));
  EXPECT_EQ(view->devices[2]->taints.back().key, "example.com/3");
}

TEST(SliceView, LearnsTheGatesFromResponses) {
  Slice sent;
  sent.devices = {partition("p", "card"), tainted_device("t"), plain_device("m")};
  sent.devices[2].shared = true;
  FeatureGates gates;
  gates.learn(sent, sent);
  EXPECT_EQ(gates, all_on());

  Slice stored = sent;
  stored.devices[0].consumes.clear();
  stored.devices[1].taints.clear();
  stored.devices[2].shared = false;
  gates.learn(sent, stored);
  EXPECT_THAT(gates.off(), ElementsAre("DRAPartitionableDevices", "DRADeviceTaints", "DRAConsumableCapacity"));
  gates.forget_off();
  EXPECT_EQ(gates, FeatureGates{});

  sent = Slice{};
  sent.shared_counters = {{"card", slots(1)}};
  gates.learn(sent, Slice{});
  EXPECT_THAT(gates.off(), ElementsAre("DRAPartitionableDevices"));
  gates.learn(sent, sent);
  EXPECT_EQ(gates.partitionable, FeatureGates::State::kOn);
}

TEST(SliceView, AGroupThatDoesNotFitInACombinedSliceIsWithheld) {
  PoolContent content;
  content.counters = {{"big", slots(70)}, {"small", slots(2)}};
  for (std::size_t i = 0; i < 65; ++i) content.devices.push_back(partition(numbered(i), "big"));
  content.devices.push_back(partition("small-0", "small"));
  const auto view = view_pool(shared(content), CounterPlacement::kCombined, all_on());
  EXPECT_THAT(names(*view), ElementsAre("small-0"));
  EXPECT_THAT(view->counters, SizeIs(1));
  EXPECT_THAT(view->withheld, SizeIs(65));
  EXPECT_THAT(view_pool(shared(content), CounterPlacement::kSeparate, all_on())->withheld, IsEmpty());
}

}  // namespace
}  // namespace cardcage
