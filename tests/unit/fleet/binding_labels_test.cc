#include "fleet/binding_labels.h"

#include <gmock/gmock.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "fleet/fleet_watches.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_api_server.h"
#include "tests/unit/fleet/fleet_objects.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

constexpr const char *kAllClaims = "resourceclaims", *kLease = "namespaces/cardcage/leases";

// A claim that waits for a device on the node, or for a device without conditions.
json::object waiting_claim_object(const std::string& name, const std::string& node, bool binds = true) {
  json::object claim = claim_object(name, node, "gpu-0", binds ? R"(,"bindingConditions":["Ready"])" : "");
  claim.at("status").at("allocation").as_object()["nodeSelector"] = json::parse(fmt::format(
      R"({{"nodeSelectorTerms":[{{"matchFields":[{{"key":"metadata.name","operator":"In","values":["{}"]}}]}}]}})",
      node));
  return claim;
}

class BindingLabelsTest : public CoreFixture {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_file_atomically(folder / "ca.crt", server.certificates().ca, 0600, false));
    ASSERT_TRUE(write_file_atomically(folder / "token", "t1", 0600, false));
    server.require_token("t1");
    server.put(kLease, {{"metadata", {{"name", "cardcage-fleet"}}}});
    const std::string url = server.url();
    auto credentials =
        Credentials::from_service_account(clock, {"127.0.0.1", url.substr(url.rfind(':') + 1), folder.path()});
    ASSERT_TRUE(credentials);
    session.emplace(core, clock, std::move(*credentials),
                    ApiPace{.request_timeout = 20s, .first_pause = 1ms, .longest_pause = 5ms});
  }
  void TearDown() override {
    cancel.emit(asio::cancellation_type::terminal);
    EXPECT_TRUE(runs_until([&] { return ended || !labels; }));
  }
  void start() {
    auto options = binding_label_options({"gpu.example.com"}, "cardcage/cardcage-fleet");
    ASSERT_TRUE(options);
    labels.emplace(core, clock, *session, *options);
    watches.emplace(core, clock, *session, store, events, pace, [] {}, &*labels);
    asio::co_spawn(core, run_all(*watches, *labels),
                   asio::bind_cancellation_slot(cancel.slot(), [this](const std::exception_ptr&) { ended = true; }));
  }
  static Task<void> run_all(FleetWatches& watches, BindingLabels& labels) {
    using namespace asio::experimental::awaitable_operators;
    co_await (watches.run() && labels.run(watches.claims()));
  }
  bool until(const std::function<bool()>& done) {
    const Instant end = std::chrono::steady_clock::now() + 30s;
    while (!done() && std::chrono::steady_clock::now() < end) {
      core.restart();
      core.run_one_for(10ms);
    }
    return done();
  }
  std::string label_of(const std::string& name) {
    const auto claim = server.get(kAllClaims, name);
    return claim ? std::string(text_at(object_at(object_at(*claim, "metadata"), "labels"), "cardcage.dev/binding-node"))
                 : "no claim";
  }
  std::string renewed() {
    const auto lease = server.get(kLease, "cardcage-fleet");
    return lease ? std::string(text_at(object_at(*lease, "spec"), "renewTime")) : "";
  }
  std::size_t patches(const std::string& part) {
    const auto requests = server.requests();
    return static_cast<std::size_t>(std::ranges::count_if(requests, [&](const HttpsRequest& request) {
      return request.method == "PATCH" && request.target.find(part) != std::string::npos;
    }));
  }

  FakeApiServer server;
  ScratchFolder folder;
  SystemClock clock;
  WatchPace pace{.first_pause = 1ms, .longest_pause = 20ms, .settled = 50ms};
  FleetStore store{[] {}};
  NodeEvents events;
  std::optional<ApiSession> session;
  std::optional<BindingLabels> labels;
  std::optional<FleetWatches> watches;
  asio::cancellation_signal cancel;
  bool ended = false;
};

TEST_F(BindingLabelsTest, LabelsClaimsThatWaitForDevicesAndThenRenewsTheLease) {
  server.put(kAllClaims, waiting_claim_object("c1", "n1"));
  server.put(kAllClaims, waiting_claim_object("c2", "n2", false));
  server.put(kAllClaims, waiting_claim_object("c3", std::string(100, 'n')));
  start();
  ASSERT_TRUE(until([&] { return !renewed().empty(); }));
  EXPECT_EQ(label_of("c1"), "n1");
  EXPECT_EQ(label_of("c2"), "") << "its device needs no call";
  EXPECT_EQ(label_of("c3").size(), 40u);
  EXPECT_EQ(patches("/namespaces/ns/resourceclaims/"), 2u);
  EXPECT_THAT(renewed(), ::testing::MatchesRegex("20[0-9-]+T[0-9:]+\\.000000Z"));
  EXPECT_EQ(labels->waiting(), 0u);
}

TEST_F(BindingLabelsTest, TheLabelFollowsTheAllocation) {
  server.put(kAllClaims, waiting_claim_object("c1", "n1"));
  start();
  ASSERT_TRUE(until([&] { return label_of("c1") == "n1"; }));
  json::object elsewhere = *server.get(kAllClaims, "c1");
  elsewhere["status"] = waiting_claim_object("c1", "n2").at("status");
  server.put(kAllClaims, elsewhere);
  ASSERT_TRUE(until([&] { return label_of("c1") == "n2"; }));
  elsewhere = *server.get(kAllClaims, "c1");
  elsewhere["status"] = json::object();
  server.put(kAllClaims, elsewhere);
  EXPECT_TRUE(until([&] { return label_of("c1").empty(); }));
}

TEST_F(BindingLabelsTest, OtherDriversClaimsStayAsTheyAre) {
  json::object other = waiting_claim_object("c1", "n1");
  other.at("status").at("allocation").at("devices").at("results").at(0).as_object()["driver"] = "other.example.com";
  server.put(kAllClaims, other);
  start();
  ASSERT_TRUE(until([&] { return !renewed().empty(); }));
  EXPECT_EQ(patches("/resourceclaims/"), 0u);
}

TEST_F(BindingLabelsTest, DaemonsAreNotToldWhileALabelIsMissing) {
  server.put(kAllClaims, waiting_claim_object("c1", "n1"));
  server.inject({.status = 403, .method = "PATCH", .target = "/resourceclaims/", .times = 2});
  start();
  ASSERT_TRUE(until([&] { return patches("/resourceclaims/") == 1; }));
  EXPECT_EQ(renewed(), "");
  ASSERT_TRUE(until([&] { return !renewed().empty(); }));
  EXPECT_EQ(label_of("c1"), "n1") << "the write was repeated";
}

TEST_F(BindingLabelsTest, AClaimThatIsGoneOrReplacedNeedsNoLabel) {
  server.put(kAllClaims, waiting_claim_object("c1", "n1"));
  server.inject({.status = 404, .method = "PATCH", .target = "/resourceclaims/"});
  server.put(kAllClaims, waiting_claim_object("c2", "n1"));
  start();
  ASSERT_TRUE(until([&] { return !renewed().empty(); }));
  EXPECT_EQ(patches("/resourceclaims/"), 2u);
}

TEST(BindingLabelOptionsTest, TakesADriverAndALease) {
  EXPECT_TRUE(binding_label_options({"d"}, "ns/lease"));
  for (const char* lease : {"", "lease", "ns/", "/lease", "NS/lease"})
    EXPECT_FALSE(binding_label_options({"d"}, lease)) << lease;
  EXPECT_FALSE(binding_label_options({}, "ns/lease"));
}

}  // namespace
}  // namespace cardcage
