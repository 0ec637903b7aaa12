#include "fleet/fleet_store.h"

#include <gmock/gmock.h>

#include "tests/unit/fleet/fleet_objects.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FleetStoreTest : public ::testing::Test {
 protected:
  void put_slice(const SliceText& slice) { store.put(fleet_slice_from_json(slice_object(slice)).value()); }
  void put_slice_text(const std::string& text) { store.put(fleet_slice_from_json(object_of(text)).value()); }
  void put_claim(const json::object& claim) { store.put(fleet_claim_from_json(claim).value()); }
  void put_rule(const json::object& rule) { store.put(fleet_taint_rule_from_json(rule).value()); }

  // "n1: gpu-0 held, gpu-1 free"
  std::vector<std::string> shown() const {
    std::vector<std::string> lines;
    for (const auto& [node, parts] : store.nodes()) {
      std::string line;
      for (const auto& part : parts)
        for (const auto& device : part.devices)
          line += fmt::format("{} {} {}", line.empty() ? node.get() + ":" : ",", device.about().name.get(),
                              word(device.state));
      lines.push_back(line);
    }
    return lines;
  }

  int changes = 0;
  FleetStore store{[this] { ++changes; }};
};

TEST_F(FleetStoreTest, DevicesComeByNodeInNaturalOrder) {
  put_slice({.name = "b", .node = "n10", .pool = "n10", .devices = {"gpu-10", "gpu-9"}});
  put_slice({.name = "a", .node = "n9", .pool = "n9"});
  put_slice({.name = "c", .driver = "a.example.com", .node = "n9", .pool = "n9", .devices = {"nic-0"}});
  EXPECT_THAT(shown(), ElementsAre("n9: nic-0 free, gpu-0 free", "n10: gpu-9 free, gpu-10 free"));
  EXPECT_EQ(changes, 3);
  store.remove_slice("a");
  store.remove_slice("b");
  store.remove_slice("unknown");
  EXPECT_THAT(shown(), ElementsAre("n9: nic-0 free"));
  EXPECT_EQ(changes, 5);
}

TEST_F(FleetStoreTest, AClaimHoldsItsDevicesUntilItIsGone) {
  put_claim(claim_object("early", "n1", "gpu-1"));
  put_slice({.devices = {"gpu-0", "gpu-1", "gpu-2"}});
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 free, gpu-1 held, gpu-2 free"));
  put_claim(claim_object("late", "n1", "gpu-2", R"(,"shareID":"a671734a-e8e5-11e4-8fde-42010af09327")"));
  put_claim(claim_object("watcher", "n1", "gpu-0", R"(,"adminAccess":true)"));
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 free, gpu-1 held, gpu-2 held"));
  store.remove_claim("ns", "early");
  put_claim(object_of(R"({"metadata":{"namespace":"ns","name":"late"},"status":{}})"));
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 free, gpu-1 free, gpu-2 free"));
  const std::uint64_t revision = store.revision();
  store.remove_claim("ns", "late");
  EXPECT_EQ(store.revision(), revision) << "a claim without devices is not news";
}

TEST_F(FleetStoreTest, ADeviceIsHeldAsLongAsOneOfItsClaimsHoldsIt) {
  put_slice({});
  put_claim(claim_object("one", "n1", "gpu-0"));
  put_claim(claim_object("two", "n1", "gpu-0"));
  store.remove_claim("ns", "one");
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 held"));
  store.remove_claim("ns", "two");
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 free"));
}

TEST_F(FleetStoreTest, TaintsMakeDevicesUnhealthyOrCordoned) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"([{"key":"x.example.com/ecc","value":"Ecc","effect":"NoSchedule"}])", "unhealthy"},
      {R"([{"key":"x.example.com/ecc","effect":"NoExecute"}])", "unhealthy"},
      {R"([{"key":"x.example.com/hint","effect":"None"}])", "held"},
      {R"([{"key":"x.example.com/later","effect":"NotYetInvented"}])", "held"},
      {R"([{"key":"gpu.example.com/unhealthy","value":"Cordoned","effect":"NoSchedule"}])", "cordoned"},
      {R"([{"key":"gpu.example.com/unhealthy","value":"Cordoned","effect":"NoSchedule"},
          {"key":"x.example.com/ecc","effect":"NoSchedule"}])",
       "unhealthy"}};
  put_claim(claim_object("c1", "n1", "gpu-0"));
  for (const auto& [taints, state] : cases) {
    put_slice({.taints = taints});
    EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 " + state)) << taints;
  }
}

TEST_F(FleetStoreTest, RulesTaintTheDevicesThatTheySelect) {
  put_slice({.devices = {"gpu-0", "gpu-1"}});
  put_slice({.name = "s2", .node = "n2", .pool = "n2"});
  put_rule(rule_object("one", R"({"driver":"gpu.example.com","pool":"n1","device":"gpu-1"})"));
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 free, gpu-1 unhealthy", "n2: gpu-0 free"));
  put_rule(rule_object("one", R"({"driver":"gpu.example.com","pool":"n2"})"));
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 free, gpu-1 free", "n2: gpu-0 unhealthy"));
  put_rule(rule_object("one", ""));
  put_rule(rule_object("by-class", R"({"deviceClassName":"gpu"})"));
  put_rule(rule_object("by-cel", R"({"selectors":[{"cel":{"expression":"true"}}]})"));
  put_rule(rule_object("hint", "{}", "None"));
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 free, gpu-1 free", "n2: gpu-0 free"));
  put_rule(rule_object("all", "{}"));
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 unhealthy, gpu-1 unhealthy", "n2: gpu-0 unhealthy"));
  put_slice({.name = "s3", .node = "n3", .pool = "n3"});
  EXPECT_THAT(shown(), ::testing::Contains("n3: gpu-0 unhealthy")) << "a slice that came after the rule";
  store.remove_rule("all");
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 free, gpu-1 free", "n2: gpu-0 free", "n3: gpu-0 free"));
}

TEST_F(FleetStoreTest, AnIncompleteGenerationLeavesTheFormerDevices) {
  put_slice({.name = "a", .generation = 1, .slices = 2, .devices = {"gpu-0"}});
  EXPECT_THAT(shown(), IsEmpty()) << "the first generation is not complete";
  EXPECT_THAT(store.incomplete_pools(), SizeIs(1));
  put_slice({.name = "b", .generation = 1, .slices = 2, .devices = {"gpu-1"}});
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 free, gpu-1 free"));
  EXPECT_THAT(store.incomplete_pools(), IsEmpty());

  put_slice({.name = "a", .generation = 2, .slices = 2, .devices = {"gpu-2"}});
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 free, gpu-1 free"));
  EXPECT_THAT(store.incomplete_pools(), SizeIs(1));
  put_claim(claim_object("c1", "n1", "gpu-0"));
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 held, gpu-1 free"));
  put_slice({.name = "b", .generation = 2, .slices = 2, .devices = {"gpu-3"}});
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-2 free, gpu-3 free"));
}

TEST_F(FleetStoreTest, SlicesOfAnOlderGenerationDoNotCount) {
  put_slice({.name = "new", .generation = 5, .devices = {"gpu-0"}});
  put_slice({.name = "old", .generation = 4, .devices = {"gpu-9"}});
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 free"));
  store.remove_slice("new");
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-9 free"));
}

TEST_F(FleetStoreTest, ASliceMayMoveToAnotherPool) {
  put_slice({.node = "n1", .pool = "n1"});
  put_slice({.node = "n2", .pool = "n2"});
  EXPECT_THAT(shown(), ElementsAre("n2: gpu-0 free"));
}

TEST_F(FleetStoreTest, DevicesOfSeveralNodesHaveAPlaceOfTheirOwn) {
  put_slice_text(R"({"metadata":{"name":"fabric"},"spec":{"driver":"f.example.com","allNodes":true,
    "pool":{"name":"fabric","generation":1,"resourceSliceCount":1},"devices":[{"name":"link-0"}]}})");
  put_slice_text(R"({"metadata":{"name":"mixed"},"spec":{"driver":"f.example.com","perDeviceNodeSelection":true,
    "pool":{"name":"mixed","generation":1,"resourceSliceCount":1},
    "devices":[{"name":"b","nodeName":"n2"},{"name":"a","nodeName":"n1"},{"name":"c","allNodes":true},
               {"name":"d","nodeName":"n1"}]}})");
  EXPECT_THAT(shown(), ElementsAre("*: link-0 free, c free", "n1: a free, d free", "n2: b free"));
  store.remove_slice("mixed");
  EXPECT_THAT(shown(), ElementsAre("*: link-0 free"));
}

TEST_F(FleetStoreTest, ReadsTheFirstBetaVersion) {
  put_slice_text(R"({"metadata":{"name":"old"},"spec":{"driver":"o.example.com","nodeName":"n1",
    "pool":{"name":"n1","generation":1,"resourceSliceCount":1},"devices":[{"name":"gpu-0","basic":{
    "attributes":{"model":{"string":"B1"}},"taints":[{"key":"k","value":"v","effect":"NoExecute"}]}}]}})");
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 unhealthy"));
  EXPECT_EQ(store.nodes().begin()->second.at(0).devices[0].about().model.get(), "B1");
}

TEST_F(FleetStoreTest, ObjectsThatAListLacksAreGone) {
  put_slice({.name = "s1", .node = "n1", .pool = "n1"});
  put_slice({.name = "s2", .node = "n2", .pool = "n2"});
  put_claim(claim_object("c1", "n1", "gpu-0"));
  put_claim(claim_object("c2", "n2", "gpu-0"));
  put_rule(rule_object("r1", R"({"pool":"n2"})"));
  store.keep_claims({"ns/c2"});
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 free", "n2: gpu-0 unhealthy"));
  store.keep_rules({});
  EXPECT_THAT(shown(), ElementsAre("n1: gpu-0 free", "n2: gpu-0 held"));
  store.keep_slices({"s2"});
  EXPECT_THAT(shown(), ElementsAre("n2: gpu-0 held"));
}

TEST(FleetObjectTest, StrangeObjectsAreRefusedOrCut) {
  for (const char* text : {"{}", R"({"metadata":7,"spec":[]})", R"({"metadata":{"name":"s"},"spec":{"driver":"d"}})",
                           R"({"metadata":{"name":"s"},"spec":{"pool":{"name":"p"}}})"})
    EXPECT_FALSE(fleet_slice_from_json(object_of(text))) << text;
  const auto odd = fleet_slice_from_json(object_of(
      R"({"metadata":{"name":"s"},"spec":{"driver":"d","nodeName":5,"pool":{"name":"p","generation":"x"},
          "devices":[7,{},{"name":""},{"name":"ok","attributes":{"model":{"int":3},"a":7,"b":{},"c":{"string":{}}},
          "capacity":{"m":7},"taints":[7,{"key":8,"effect":9}]}]}})"));
  ASSERT_TRUE(odd);
  ASSERT_THAT(odd->devices, SizeIs(1));
  EXPECT_EQ(odd->devices[0].name.get(), "ok");
  EXPECT_EQ(odd->devices[0].node.get(), kSharedNode);
  EXPECT_EQ(odd->devices[0].model.get(), "");
  EXPECT_EQ(odd->details.text(), R"([{"attributes":{"model":3},"capacity":{"m":""}}])");
  EXPECT_FALSE(fleet_claim_from_json(object_of(R"({"metadata":{"name":"c"}})")));
  EXPECT_FALSE(fleet_taint_rule_from_json(object_of(R"({"spec":{}})")));
}

}  // namespace
}  // namespace cardcage
