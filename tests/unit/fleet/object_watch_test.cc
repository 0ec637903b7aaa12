#include <gmock/gmock.h>

#include <boost/asio/bind_cancellation_slot.hpp>

#include "fleet/fleet_watches.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_api_server.h"
#include "tests/unit/fleet/fleet_objects.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char *kSlices = "resourceslices", *kClaims = "resourceclaims", *kRules = "devicetaintrules",
                     *kEvents = "events";
constexpr std::size_t kWatches = 4;

class FleetWatchesTest : public CoreFixture {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_file_atomically(folder / "ca.crt", server.certificates().ca, 0600, false));
    ASSERT_TRUE(write_file_atomically(folder / "token", "t1", 0600, false));
    server.require_token("t1");
  }
  void TearDown() override {
    cancel.emit(asio::cancellation_type::terminal);
    EXPECT_TRUE(runs_until([&] { return ended || !watches; }));
  }
  void start() {
    const std::string url = server.url();
    auto credentials =
        Credentials::from_service_account(clock, {"127.0.0.1", url.substr(url.rfind(':') + 1), folder.path()});
    ASSERT_TRUE(credentials);
    session.emplace(core, clock, std::move(*credentials),
                    ApiPace{.request_timeout = 20s, .first_pause = 1ms, .longest_pause = 5ms});
    watches.emplace(core, clock, *session, store, events, pace, [this] { ++state_changes; });
    asio::co_spawn(core, watches->run(),
                   asio::bind_cancellation_slot(cancel.slot(), [this](const std::exception_ptr&) { ended = true; }));
  }
  void start_and_sync() {
    start();
    ASSERT_TRUE(until([&] { return watches->synced() && server.watches() == kWatches; }));
  }
  bool until(const std::function<bool()>& done) {
    const Instant end = std::chrono::steady_clock::now() + 30s;
    while (!done() && std::chrono::steady_clock::now() < end) {
      core.restart();
      core.run_one_for(10ms);
    }
    return done();
  }
  void put_slice(const SliceText& slice) { server.put(kSlices, slice_object(slice)); }
  std::vector<std::string> nodes() const {
    std::vector<std::string> names;
    for (const auto& [node, parts] : store.nodes()) names.push_back(node);
    return names;
  }
  DeviceState state_of(const std::string& node) const { return store.nodes().at(Name(node)).at(0).devices[0].state; }
  std::size_t count_requests(const std::string& part) {
    const auto requests = server.requests();
    return static_cast<std::size_t>(std::ranges::count_if(
        requests, [&](const HttpsRequest& request) { return request.target.find(part) != std::string::npos; }));
  }

  FakeApiServer server;
  ScratchFolder folder;
  SystemClock clock;
  WatchPace pace{.first_pause = 1ms, .longest_pause = 20ms, .settled = 50ms};
  FleetStore store{[] {}};
  NodeEvents events;
  std::optional<ApiSession> session;
  std::optional<FleetWatches> watches;
  asio::cancellation_signal cancel;
  int state_changes = 0;
  bool ended = false;
};

TEST_F(FleetWatchesTest, ReadsAllPagesThenFollowsChanges) {
  for (int i = 0; i < 205; ++i)
    put_slice({.name = fmt::format("s{:03}", i), .node = fmt::format("n{}", i), .pool = fmt::format("n{}", i)});
  server.put(kClaims, claim_object("c1", "n3", "gpu-0"));
  server.put(kEvents, object_of(R"({"metadata":{"namespace":"default","name":"e1"},"reason":"Why",
    "involvedObject":{"kind":"Node","name":"n3"}})"));
  start_and_sync();
  EXPECT_EQ(store.nodes().size(), 205u);
  EXPECT_EQ(count_requests("resourceslices?limit=100"), 3u);
  EXPECT_EQ(count_requests("events?limit=500&fieldSelector=involvedObject.kind%3DNode"), 1u);
  EXPECT_EQ(state_of("n3"), DeviceState::kHeld);
  EXPECT_THAT(events.of_node("n3", 10), SizeIs(1));
  EXPECT_THAT(watches->warnings(), IsEmpty());

  put_slice({.name = "new", .node = "n999", .pool = "n999"});
  server.remove(kSlices, "s007");
  server.remove(kClaims, "c1");
  server.put(kRules, rule_object("r1", R"({"pool":"n5"})"));
  EXPECT_TRUE(until([&] {
    return nodes().back() == "n999" && store.nodes().size() == 205 && state_of("n3") == DeviceState::kFree &&
           state_of("n5") == DeviceState::kUnhealthy;
  }));
  server.remove(kRules, "r1");
  EXPECT_TRUE(until([&] { return state_of("n5") == DeviceState::kFree; }));
}

TEST_F(FleetWatchesTest, AnEndedWatchGoesOnWhereItEnded) {
  put_slice({});
  start_and_sync();
  const std::size_t lists = count_requests("?limit=");
  put_slice({.name = "s2", .node = "n2", .pool = "n2"});
  ASSERT_TRUE(until([&] { return store.nodes().size() == 2; }));
  server.end_watches();
  put_slice({.name = "s3", .node = "n3", .pool = "n3"});
  EXPECT_TRUE(until([&] { return store.nodes().size() == 3 && server.watches() == kWatches; }));
  EXPECT_EQ(count_requests("?limit="), lists) << "nothing was read twice";
}

TEST_F(FleetWatchesTest, ServesWhatItHasWhileTheApiServerIsAway) {
  put_slice({});
  start_and_sync();
  server.go_down();
  ASSERT_TRUE(until([&] { return watches->lost() == kWatches; }));
  EXPECT_THAT(nodes(), ElementsAre("n1"));
  EXPECT_TRUE(watches->synced());
  EXPECT_THAT(watches->warnings(), Contains(HasSubstr("ResourceSlices are as of 20")));
  EXPECT_THAT(watches->warnings(), Contains(HasSubstr("ResourceClaims: API server https://127.0.0.1")));
  put_slice({.name = "s2", .node = "n2", .pool = "n2"});
  server.come_up();
  EXPECT_TRUE(until([&] { return store.nodes().size() == 2 && watches->lost() == 0; }));
  EXPECT_THAT(watches->warnings(), IsEmpty());
  EXPECT_GE(state_changes, 8);
}

TEST_F(FleetWatchesTest, ForgottenEventsAreReadAgain) {
  put_slice({});
  put_slice({.name = "s2", .node = "n2", .pool = "n2"});
  start_and_sync();
  server.go_down();
  ASSERT_TRUE(until([&] { return watches->lost() == kWatches; }));
  server.remove(kSlices, "s2");
  put_slice({.name = "s3", .node = "n3", .pool = "n3"});
  server.compact();
  server.come_up();
  EXPECT_TRUE(until([&] { return nodes() == std::vector<std::string>{"n1", "n3"} && watches->lost() == 0; }));
  EXPECT_TRUE(watches->synced());
}

TEST_F(FleetWatchesTest, ASilentWatchIsReplaced) {
  pace.silence = 300ms;
  put_slice({});
  start_and_sync();
  EXPECT_TRUE(until([&] { return count_requests("resourceslices?watch=1") >= 2; }));
  EXPECT_THAT(nodes(), ElementsAre("n1"));
}

TEST_F(FleetWatchesTest, AfterABookmarkOlderEventsMayBeForgotten) {
  put_slice({});
  start_and_sync();
  const std::size_t lists = count_requests("?limit=");
  server.compact();
  server.bookmark();
  server.end_watches();
  EXPECT_TRUE(until([&] { return count_requests("?watch=1") >= 2 * kWatches && server.watches() == kWatches; }));
  EXPECT_EQ(count_requests("?limit="), lists);
}

TEST_F(FleetWatchesTest, AClusterWithoutTaintRulesIsFine) {
  server.inject({.status = 404, .target = "devicetaintrules", .times = 1000});
  put_slice({});
  start();
  EXPECT_TRUE(until([&] { return watches->synced() && watches->lost() == 0; }));
  EXPECT_EQ(count_requests("v1alpha3/devicetaintrules"), 1u) << "the oldest version was tried, too";
}

TEST_F(FleetWatchesTest, OlderClustersServeTheFirstBeta) {
  server.serve_versions({"v1beta1"});
  put_slice({});
  start_and_sync();
  EXPECT_EQ(count_requests("/apis/resource.k8s.io/v1beta1/resourceslices?watch=1"), 1u);
  EXPECT_THAT(nodes(), ElementsAre("n1"));
}

TEST_F(FleetWatchesTest, AKindThatMayNotBeReadIsAWarning) {
  server.inject({.status = 403, .target = "resourceclaims", .times = 1'000'000});
  put_slice({});
  start();
  const auto warned = Contains(HasSubstr("ResourceClaims have not been read yet: list ResourceClaims"));
  EXPECT_TRUE(until([&] { return testing::Matches(warned)(watches->warnings()); }));
  EXPECT_TRUE(until([&] { return watches->lost() == 1 && store.nodes().size() == 1 && server.watches() == 3; }));
  EXPECT_FALSE(watches->synced());
  EXPECT_THAT(watches->warnings(), warned);
}

TEST_F(FleetWatchesTest, LargeObjectsComeInSmallPages) {
  const std::string large(100'000, 'x');
  for (int i = 0; i < 80; ++i)
    put_slice({.name = fmt::format("s{:03}", i),
               .node = fmt::format("n{}", i),
               .pool = fmt::format("n{}", i),
               .model = large});
  start_and_sync();
  EXPECT_EQ(store.nodes().size(), 80u);
  EXPECT_GE(count_requests("resourceslices?limit=25"), 4u);
}

TEST_F(FleetWatchesTest, UnreadableObjectsAreLeftOut) {
  server.put(kSlices, object_of(R"({"metadata":{"name":"odd"},"spec":{"driver":7}})"));
  server.put(kClaims, object_of(R"({"metadata":{"name":"odd"}})"));
  server.put(kRules, object_of(R"({"metadata":{"name":"odd"},"spec":"none"})"));
  put_slice({});
  start_and_sync();
  server.send_to_watches(R"({"type":"ADDED","object":{"metadata":{"name":7}}})"
                         "\n");
  put_slice({.name = "s2", .node = "n2", .pool = "n2"});
  EXPECT_TRUE(until([&] { return store.nodes().size() == 2; }));
}

TEST_F(FleetWatchesTest, GarbageEndsOnlyTheWatch) {
  put_slice({});
  start_and_sync();
  server.send_to_watches("{{{\n");
  put_slice({.name = "s2", .node = "n2", .pool = "n2"});
  EXPECT_TRUE(until([&] { return store.nodes().size() == 2 && server.watches() == kWatches; }));
}

}  // namespace
}  // namespace cardcage
