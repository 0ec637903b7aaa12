// The list and the watches through which a node follows all claims of the cluster.
#include <boost/asio/bind_cancellation_slot.hpp>

#include "tests/fakes/fake_clock.h"
#include "tests/unit/apiserver/api_server_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::SizeIs;

constexpr const char* kClaims = "resourceclaims";

Task<void> follow_into(ApiServer& api, std::vector<ClaimEvent>& events, std::optional<Status>& ended) {
  std::function<void(ClaimEvent)> take = [&events](ClaimEvent event) { events.push_back(std::move(event)); };
  ended = co_await api.follow_claims(std::move(take));
}

class ApiServerClaimsTest : public ApiServerFixture {
 protected:
  void SetUp() override {
    ApiServerFixture::SetUp();
    connect(clock);
    server.remove("namespaces/ns/resourceclaims", "c1");  // lists of all claims would have it, too
  }
  void put(const std::string& name, const std::string& device) {
    server.put(kClaims, json::parse(fmt::format(R"({{"metadata":{{"namespace":"ns","name":"{0}","uid":"uid-{0}"}},
      "status":{{"reservedFor":[{{"uid":"pod-1"}}],"allocation":{{"allocationTimestamp":"2030-01-01T00:00:00Z",
      "devices":{{"results":[{{"request":"r","driver":"d","pool":"n1","device":"{1}","bindingConditions":["Ready"],
      "bindingFailureConditions":["Failed"]}}]}}}}}}}})",
                                                name, device))
                            .as_object());
  }
  void follow() {
    asio::co_spawn(core, follow_into(*api, events, ended), asio::bind_cancellation_slot(cancel.slot(), asio::detached));
  }

  // Also ends pauses.
  template <class Condition>
  void pass_until(Condition condition) {
    run_until([&] {
      if (!condition() && clock.sleepers() > 0) clock.advance(1s);
      return condition();
    });
  }

  FakeClock clock;
  std::vector<ClaimEvent> events;
  std::optional<Status> ended;
  asio::cancellation_signal cancel;
};

TEST_F(ApiServerClaimsTest, TellsAllClaimsThenEachChange) {
  for (int i = 0; i < 205; ++i) put(fmt::format("c{:03}", i), "gpu-0");
  follow();
  run_until([&] { return server.watches() > 0; });
  ASSERT_THAT(events, SizeIs(207));
  EXPECT_EQ(count_requests("GET", "limit=100"), 3u) << "the list comes in pages";
  EXPECT_EQ(events.back().kind, ClaimEvent::Kind::kListed);
  EXPECT_EQ(events.front().kind, ClaimEvent::Kind::kListing);
  const Claim& first = events[1].claim;
  EXPECT_EQ(first.ref.uid, "uid-c000");
  EXPECT_EQ(first.allocations.at(0).binding, (Binding{{"Ready"}, {"Failed"}}));
  EXPECT_EQ(first.allocated_at, "2030-01-01T00:00:00Z");
  EXPECT_THAT(first.reserved_for, ::testing::ElementsAre("pod-1"));

  put("c001", "gpu-7");
  server.remove(kClaims, "c002");
  run_until([&] { return events.size() == 209; });
  EXPECT_EQ(events[207].kind, ClaimEvent::Kind::kThere);
  EXPECT_EQ(events[207].claim.allocations.at(0).device, "gpu-7");
  EXPECT_EQ(events[208].kind, ClaimEvent::Kind::kGone);
  EXPECT_EQ(events[208].claim.ref.name, "c002");
}

TEST_F(ApiServerClaimsTest, AWatchFollowsTheOneThatTheServerEnds) {
  follow();
  run_until([&] { return server.watches() > 0; });
  clock.advance(5s);
  server.end_watches();
  put("c1", "gpu-0");
  run_until([&] { return events.size() == 3; });
  EXPECT_EQ(events[2].claim.ref.name, "c1");
  EXPECT_EQ(count_requests("GET", "limit=100"), 1u) << "claims are not listed again";
  EXPECT_FALSE(ended);
}

TEST_F(ApiServerClaimsTest, AWatchThatEndsTooSoonOrBreaksContinuesAfterAPause) {
  follow();
  run_until([&] { return server.watches() > 0; });
  server.end_watches();
  run_until([&] { return clock.sleepers() > 0; });
  put("c1", "gpu-0");
  pass_until([&] { return events.size() == 3; });
  server.go_down();
  run_until([&] { return clock.sleepers() > 0; });
  server.come_up();
  put("c2", "gpu-1");
  pass_until([&] { return events.size() == 4; });
  EXPECT_EQ(events[3].claim.ref.name, "c2");
  EXPECT_EQ(count_requests("GET", "limit=100"), 1u) << "claims are not listed again";
  EXPECT_FALSE(ended);
}

TEST_F(ApiServerClaimsTest, AWatchThatAlwaysFailsLeadsToAList) {
  follow();
  run_until([&] { return server.watches() > 0; });
  server.inject({.status = 503, .target = "watch=1", .times = 100});
  server.end_watches();
  pass_until([&] { return ended.has_value(); });
  EXPECT_EQ(ended->error().code, Code::kUnavailable);
  EXPECT_EQ(count_requests("GET", "watch=1"), 7u) << "the first, and six that failed";
}

TEST_F(ApiServerClaimsTest, AClaimThatCannotBeReadIsSkipped) {
  put("bad", "not a device");
  put("good", "gpu-0");
  follow();
  run_until([&] { return server.watches() > 0; });
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[1].claim.ref.name, "good");
}

TEST_F(ApiServerClaimsTest, AnObjectWithoutItemsIsNotAnEmptyList) {
  put("c1", "gpu-0");
  server.inject({.status = 200, .target = "limit="});
  follow();
  run_until([&] { return ended.has_value(); });
  EXPECT_EQ(ended->error().code, Code::kUnavailable);
  EXPECT_THAT(events, SizeIs(1));
}

TEST_F(ApiServerClaimsTest, EndsIfItMayNotOrIfTheVersionIsTooOld) {
  server.inject({.status = 403, .target = "limit="});
  follow();
  run_until([&] { return ended.has_value(); });
  EXPECT_EQ(ended->error().code, Code::kPermissionDenied);
  EXPECT_THAT(events, SizeIs(1));

  ended.reset();
  follow();
  run_until([&] { return server.watches() > 0; });
  put("c1", "gpu-0");
  server.compact();
  server.end_watches();
  pass_until([&] { return ended.has_value(); });
  EXPECT_EQ(ended->error().code, Code::kOutOfRange);
}

}  // namespace
}  // namespace cardcage
