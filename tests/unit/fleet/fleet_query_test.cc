#include "fleet/fleet_query.h"

#include <gmock/gmock.h>

#include <map>

#include "tests/unit/fleet/fleet_objects.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FleetQueryTest : public ::testing::Test {
 protected:
  // n1: gpu-0 held, gpu-1 unhealthy; n2: two free; n10: gpu-0 cordoned, nic-0 free
  FleetQueryTest() {
    put({.name = "s1",
         .node = "n1",
         .pool = "n1",
         .devices = {"gpu-1", "gpu-0"},
         .taints =
             R"([{"key":"gpu.example.com/unhealthy","value":"Ecc","effect":"NoExecute","timeAdded":"2027-01-15T08:00:00Z"}])"});
    put({.name = "s2", .node = "n2", .pool = "n2", .devices = {"gpu-0", "gpu-1"}, .model = "G2"});
    put({.name = "s3",
         .node = "n10",
         .pool = "n10",
         .taints = R"([{"key":"gpu.example.com/unhealthy","value":"Cordoned","effect":"NoSchedule"}])"});
    put({.name = "s4", .driver = "nic.example.com", .node = "n10", .pool = "n10", .devices = {"nic-0"}, .model = ""});
    store.put(fleet_claim_from_json(claim_object("c1", "n1", "gpu-0")).value());
    store.put(fleet_taint_rule_from_json(rule_object("by-class", R"({"deviceClassName":"gpu"})")).value());
  }
  void put(const SliceText& slice) { store.put(fleet_slice_from_json(slice_object(slice)).value()); }

  using Parameters = std::map<std::string, std::string, std::less<>>;
  static Parameter given(const Parameters& parameters) {
    return [&parameters](std::string_view name) -> std::optional<std::string> {
      const auto found = parameters.find(name);
      return found == parameters.end() ? std::nullopt : std::optional(found->second);
    };
  }
  // The list of nodes as "n1 2/0/1/1/0 unhealthy": devices, free, held, unhealthy, cordoned.
  std::vector<std::string> nodes(const Parameters& parameters) {
    const json::object response = object_of(nodes_json(store, node_query(given(parameters)).value()));
    total = response.at("total").as_int64();
    std::vector<std::string> lines;
    for (const auto& item : response.at("nodes").as_array()) {
      const json::object& node = item.as_object();
      lines.push_back(fmt::format("{} {}/{}/{}/{}/{} {}", text_at(node, "name"), int_at(node, "devices"),
                                  int_at(node, "free"), int_at(node, "held"), int_at(node, "unhealthy"),
                                  int_at(node, "cordoned"), text_at(node, "worst")));
    }
    return lines;
  }

  FleetStore store{[] {}};
  NodeEvents events;
  std::int64_t total = 0;
};

TEST_F(FleetQueryTest, TheSummaryCountsEachDeviceOnce) {
  const json::object summary = object_of(summary_json(store, {.synced = true, .warnings = {"slow \"today\""}}));
  EXPECT_EQ(json::serialize(summary.at("drivers")),
            R"([{"driver":"gpu.example.com","model":"G1","nodes":2,"devices":3,"free":0,"held":1,"unhealthy":1,)"
            R"("cordoned":1},{"driver":"gpu.example.com","model":"G2","nodes":1,"devices":2,"free":2,"held":0,)"
            R"("unhealthy":0,"cordoned":0},{"driver":"nic.example.com","model":"","nodes":1,"devices":1,"free":1,)"
            R"("held":0,"unhealthy":0,"cordoned":0}])");
  EXPECT_EQ(json::serialize(summary.at("causes")),
            R"([{"cause":"Cordoned","devices":1,"nodes":1},{"cause":"Ecc","devices":1,"nodes":1}])");
  EXPECT_EQ(summary.at("nodes").as_int64(), 3);
  EXPECT_EQ(summary.at("devices").as_int64(), 6);
  EXPECT_EQ(summary.at("free").as_int64(), 3);
  EXPECT_TRUE(summary.at("synced").as_bool());
  EXPECT_EQ(
      json::serialize(summary.at("warnings")),
      R"(["slow \"today\"","DeviceTaintRule 'by-class' selects devices by class or CEL; its taint is not shown"])");
}

TEST_F(FleetQueryTest, IncompletePoolsAreAWarning) {
  for (int i = 0; i < 5; ++i)
    put({.name = fmt::format("p{}", i), .node = "n3", .pool = fmt::format("pool-{}", i), .slices = 2});
  const std::string summary = summary_json(store, {});
  EXPECT_THAT(summary, HasSubstr("pool 'pool-0' of driver 'gpu.example.com' lacks slices"));
  EXPECT_THAT(summary, HasSubstr("2 more pools lack slices"));
  EXPECT_THAT(summary, HasSubstr(R"("synced":false)"));
}

TEST_F(FleetQueryTest, NodesAreListedInTheOrderThatIsAskedFor) {
  EXPECT_THAT(nodes({}), ElementsAre("n1 2/0/1/1/0 unhealthy", "n2 2/2/0/0/0 free", "n10 2/1/0/0/1 cordoned"));
  EXPECT_THAT(nodes({{"sort", "-name"}}),
              ElementsAre("n10 2/1/0/0/1 cordoned", "n2 2/2/0/0/0 free", "n1 2/0/1/1/0 unhealthy"));
  EXPECT_THAT(nodes({{"sort", "-free"}}),
              ElementsAre("n2 2/2/0/0/0 free", "n10 2/1/0/0/1 cordoned", "n1 2/0/1/1/0 unhealthy"));
  EXPECT_THAT(nodes({{"sort", "unhealthy"}}),
              ElementsAre("n2 2/2/0/0/0 free", "n10 2/1/0/0/1 cordoned", "n1 2/0/1/1/0 unhealthy"));
  EXPECT_THAT(nodes({{"sort", "-devices"}, {"limit", "1"}, {"offset", "1"}}), ElementsAre("n2 2/2/0/0/0 free"));
  EXPECT_EQ(total, 3);
  EXPECT_THAT(nodes({{"offset", "1000"}}), ElementsAre());
}

TEST_F(FleetQueryTest, FiltersSelectDevices) {
  EXPECT_THAT(nodes({{"driver", "nic.example.com"}}), ElementsAre("n10 1/1/0/0/0 free"));
  EXPECT_THAT(nodes({{"model", "G2"}}), ElementsAre("n2 2/2/0/0/0 free"));
  EXPECT_THAT(nodes({{"model", ""}}), ElementsAre("n10 1/1/0/0/0 free"));
  EXPECT_THAT(nodes({{"state", "held"}}), ElementsAre("n1 1/0/1/0/0 held"));
  EXPECT_THAT(nodes({{"state", ""}, {"query", "N1"}}), ElementsAre("n1 2/0/1/1/0 unhealthy", "n10 2/1/0/0/1 cordoned"));
  EXPECT_THAT(nodes({{"cause", "Ecc"}}), ElementsAre("n1 1/0/0/1/0 unhealthy"));
  EXPECT_THAT(nodes({{"cause", "Ecc"}, {"state", "free"}}), ElementsAre());
}

TEST_F(FleetQueryTest, WrongParametersAreRefused) {
  for (const Parameters& wrong : {Parameters{{"limit", "0"}},
                                  {{"limit", "501"}},
                                  {{"limit", "x"}},
                                  {{"limit", "1 "}},
                                  {{"offset", "-1"}},
                                  {{"offset", "99999999999999999999999"}},
                                  {{"sort", "age"}},
                                  {{"sort", "--name"}},
                                  {{"state", "broken"}}}) {
    const auto query = node_query(given(wrong));
    ASSERT_FALSE(query) << wrong.begin()->second;
    EXPECT_THAT(query.error().message, HasSubstr(wrong.begin()->first));
  }
  const Parameters too_many{{"limit", "1001"}};
  EXPECT_FALSE(device_query(given(too_many)));
}

TEST_F(FleetQueryTest, TheMapHasANumberForEachNode) {
  EXPECT_EQ(json::serialize(object_of(heat_json(store, {}))),
            fmt::format(R"({{"revision":{},"names":["n1","n2","n10"],"values":[102,0,101],"devices":[2,2,2]}})",
                        store.revision()));
  store.remove_slice("s1");
  put({.name = "s1", .node = "n1", .pool = "n1", .devices = {"gpu-0", "gpu-1", "gpu-2"}});
  EXPECT_THAT(heat_json(store, {.driver = "gpu.example.com"}), HasSubstr(R"("values":[33,0,101],"devices":[3,2,1])"));
}

TEST_F(FleetQueryTest, ANodeHasItsDevicesWithAllDetails) {
  events.put(object_of(R"({"metadata":{"namespace":"default","name":"e1"},"involvedObject":{"kind":"Node","name":"n1"},
    "type":"Warning","reason":"DeviceUnhealthy","message":"gpu-1 is ill","count":3,
    "lastTimestamp":"2027-01-15T08:00:01Z"})"));
  const json::object node = object_of(node_json(store, events, "n1", {}, json::object{{"path", "/page"}}).value());
  EXPECT_EQ(json::serialize(node.at("devices").as_array().at(0)),
            R"({"driver":"gpu.example.com","pool":"n1","name":"gpu-0","model":"G1","state":"held","held":true,)"
            R"("taints":[],"claims":[{"namespace":"ns","name":"c1","pods":["p1"],"admin":false}],)"
            R"("attributes":{"productName":"G1","index":7,"x.example.com/ok":true},"capacity":{"memory":"80Gi"}})");
  EXPECT_EQ(json::serialize(node.at("devices").as_array().at(1).at("taints")),
            R"([{"key":"gpu.example.com/unhealthy","value":"Ecc","effect":"NoExecute",)"
            R"("since":"2027-01-15T08:00:00Z","rule":null}])");
  EXPECT_EQ(json::serialize(node.at("events")),
            R"([{"time":"2027-01-15T08:00:01Z","type":"Warning","reason":"DeviceUnhealthy","object":"Node/n1",)"
            R"("message":"gpu-1 is ill","count":3}])");
  EXPECT_EQ(text_at(object_at(node, "page"), "path"), "/page");
  EXPECT_EQ(node.at("total").as_int64(), 2);
  EXPECT_FALSE(node_json(store, events, "n3", {}, nullptr));
}

TEST_F(FleetQueryTest, DevicesOfANodeComeInPages) {
  const json::object node = object_of(node_json(store, events, "n2", {.offset = 1, .limit = 1}, nullptr).value());
  ASSERT_EQ(node.at("devices").as_array().size(), 1u);
  EXPECT_EQ(text_at(node.at("devices").as_array()[0].as_object(), "name"), "gpu-1");
  EXPECT_EQ(node.at("total").as_int64(), 2);
  EXPECT_TRUE(node.at("page").is_null());
}

TEST_F(FleetQueryTest, ARuleIsNamedAtItsTaint) {
  store.put(fleet_taint_rule_from_json(rule_object("fix", R"({"pool":"n2"})")).value());
  const json::object node = object_of(node_json(store, events, "n2", {}, nullptr).value());
  EXPECT_EQ(json::serialize(node.at("devices").as_array().at(0).at("taints")),
            R"([{"key":"example.com/repair","value":"Repair","effect":"NoSchedule","since":"","rule":"fix"}])");
}

TEST_F(FleetQueryTest, TextsOfOthersStayTexts) {
  put({.name = "x", .driver = "<script>", .node = "n\"5\\", .pool = "\n", .devices = {"</script>"}, .model = "\t\"x"});
  const json::object node = object_of(node_json(store, events, "n\"5\\", {}, nullptr).value());
  const json::object& device = node.at("devices").as_array().at(0).as_object();
  EXPECT_EQ(text_at(device, "driver"), "<script>");
  EXPECT_EQ(text_at(device, "model"), "\t\"x");
  EXPECT_EQ(text_at(device, "pool"), "\n");
  EXPECT_TRUE(parse_json(summary_json(store, {}), "summary"));
  EXPECT_TRUE(parse_json(heat_json(store, {}), "heat"));
  EXPECT_THAT(nodes({{"query", "n\""}}), ElementsAre("n\"5\\ 1/1/0/0/0 free"));
}

TEST(NodeEventsTest, KeepsTheLatest) {
  NodeEvents events;
  const auto event = [](int number, const std::string& node) {
    return object_of(fmt::format(R"({{"metadata":{{"namespace":"default","name":"e{}"}},"reason":"R{}",
      "involvedObject":{{"kind":"Node","name":"{}"}},"eventTime":"2027-01-15T08:00:{:02}.{:06}Z"}})",
                                 number, number, node, number / 1000, number % 1000));
  };
  for (int i = 0; i < 4010; ++i) events.put(event(i, i % 2 == 0 ? "n1" : "n2"));
  EXPECT_EQ(events.of_node("n1", 10'000).size() + events.of_node("n2", 10'000).size(), NodeEvents::kMostKept);
  const auto latest = events.of_node("n1", 2);
  ASSERT_EQ(latest.size(), 2u);
  EXPECT_EQ(latest[0].reason, "R4008");
  EXPECT_EQ(latest[1].reason, "R4006");
  events.remove(event(4008, "n1"));
  events.put(event(4006, "n1"));
  events.keep({"default/e4006", "default/e4007"});
  EXPECT_EQ(events.of_node("n1", 10).size(), 1u);
  EXPECT_EQ(events.of_node("n2", 10).size(), 1u);
  EXPECT_TRUE(events.of_node("n", 10).empty());
}

}  // namespace
}  // namespace cardcage
