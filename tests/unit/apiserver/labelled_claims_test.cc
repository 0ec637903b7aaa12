// How a node follows only the claims that cardcage-fleet has labelled for it.
#include "host/apiserver/labelled_claims.h"

#include <boost/asio/bind_cancellation_slot.hpp>

#include "host/apiserver/binding_label.h"
#include "tests/fakes/fake_clock.h"
#include "tests/unit/apiserver/api_server_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

Task<void> follow_labelled(ApiServer& api, std::vector<ClaimEvent>& events, std::optional<Status>& ended) {
  std::function<void(ClaimEvent)> take = [&events](ClaimEvent event) { events.push_back(std::move(event)); };
  ended = co_await api.follow_claims(std::move(take));
}

class LabelledClaimsTest : public ApiServerFixture {
 protected:
  static constexpr const char *kClaims = "resourceclaims", *kLeases = "namespaces/cardcage/leases";

  void SetUp() override {
    ApiServerFixture::SetUp();
    connect(clock, 20s, ClaimLabelling{"cardcage", "cardcage-fleet", "n1"});
  }
  void TearDown() override {
    cancel.emit(asio::cancellation_type::terminal);
    run_until([&] { return ended || !began; });
  }
  void put(const std::string& name, const std::string& label) {
    server.put(kClaims, json::parse(fmt::format(R"({{"metadata":{{"namespace":"ns","name":"{0}","uid":"uid-{0}",
      "labels":{{"cardcage.dev/binding-node":"{1}"}}}},"status":{{"allocation":{{"devices":{{"results":[
      {{"request":"r","driver":"d","pool":"n1","device":"gpu-0","bindingConditions":["Ready"]}}]}}}}}}}})",
                                                name, label))
                            .as_object());
  }
  void renew(const std::string& time) {
    server.put(kLeases, {{"metadata", {{"name", "cardcage-fleet"}}}, {"spec", {{"renewTime", time}}}});
  }
  void follow() {
    began = true;
    asio::co_spawn(core, follow_labelled(*api, events, ended),
                   asio::bind_cancellation_slot(cancel.slot(), asio::detached));
    run_until([&] { return lists() == 1 && server.watches() == 1; });
  }
  // Until the next look at the Lease is over.
  void look_again() {
    const std::size_t before = count_requests("GET", "/leases/");
    run_until([&] {
      if (count_requests("GET", "/leases/") == before && clock.sleepers() > 0) clock.advance(1s);
      return count_requests("GET", "/leases/") > before;
    });
  }
  std::size_t lists() const {
    return static_cast<std::size_t>(std::ranges::count(events, ClaimEvent::Kind::kListed, &ClaimEvent::kind));
  }
  std::set<std::string> told() const {
    std::set<std::string> names;
    for (const ClaimEvent& event : events)
      if (event.kind == ClaimEvent::Kind::kThere) names.insert(event.claim.ref.name);
    return names;
  }

  FakeClock clock;
  std::vector<ClaimEvent> events;
  std::optional<Status> ended;
  asio::cancellation_signal cancel;
  bool began = false;
};

TEST_F(LabelledClaimsTest, FollowsTheClaimsOfItsNodeWhileTheLeaseIsRenewed) {
  put("mine", "n1");
  put("other", "n2");
  renew("2030-01-01T00:00:00.000000Z");
  follow();
  EXPECT_EQ(told(), (std::set<std::string>{"mine"}));
  EXPECT_EQ(count_requests("GET", "labelSelector=cardcage.dev%2Fbinding-node%3Dn1"), 2u) << "list and watch";
  put("later", "n1");
  run_until([&] { return told().contains("later"); });
  put("later", "n2");
  run_until([&] { return events.back().kind == ClaimEvent::Kind::kGone; });
  renew("2030-01-01T00:02:00.000000Z");
  look_again();
  renew("2030-01-01T00:04:00.000000Z");
  look_again();
  EXPECT_EQ(lists(), 1u) << "nothing is read again";
}

TEST_F(LabelledClaimsTest, FollowsAllClaimsWithoutALease) {
  put("other", "n2");
  follow();
  EXPECT_EQ(told(), (std::set<std::string>{"other"}));
  EXPECT_EQ(count_requests("GET", "labelSelector"), 0u);
}

TEST_F(LabelledClaimsTest, ALeaseThatWasNeverRenewedIsNone) {
  put("other", "n2");
  server.put(kLeases, {{"metadata", {{"name", "cardcage-fleet"}}}});
  follow();
  EXPECT_EQ(told(), (std::set<std::string>{"other"}));
}

TEST_F(LabelledClaimsTest, FollowsAllClaimsOnceTheLeaseIsNotRenewedAndReturns) {
  put("mine", "n1");
  put("other", "n2");
  renew("2030-01-01T00:00:00.000000Z");
  follow();
  look_again();
  run_until([&] { return lists() == 2 && server.watches() == 1; });
  EXPECT_EQ(told(), (std::set<std::string>{"mine", "other"}));
  const std::size_t labelled = count_requests("GET", "labelSelector");
  renew("2030-01-01T00:10:00.000000Z");
  look_again();
  run_until([&] { return lists() == 3 && server.watches() == 1; });
  EXPECT_EQ(count_requests("GET", "labelSelector"), labelled + 2);
}

TEST_F(LabelledClaimsTest, OneFailedReadOfTheLeaseProvesNothing) {
  put("mine", "n1");
  renew("2030-01-01T00:00:00.000000Z");
  follow();
  server.inject({.status = 403, .target = "/leases/"});
  look_again();
  look_again();
  run_until([&] { return clock.sleepers() > 0; });
  EXPECT_EQ(lists(), 1u) << "the fleet may renew the Lease late after an outage, too";
  look_again();
  run_until([&] { return lists() == 2; });
}

TEST_F(LabelledClaimsTest, FollowsAllClaimsWithoutTheRightToTheLease) {
  put("mine", "n1");
  renew("2030-01-01T00:00:00.000000Z");
  follow();
  server.inject({.status = 403, .target = "/leases/", .times = 3});
  for (int i = 0; i < 3; ++i) look_again();
  run_until([&] { return lists() == 2; });
  EXPECT_EQ(count_requests("GET", "labelSelector"), 2u) << "no right to the Lease: all claims";
}

TEST(BindingLabelTest, IsAValidValueForEveryNode) {
  EXPECT_EQ(binding_label_of("node-1.example.com"), "node-1.example.com");
  const std::string exact(63, 'a'), longer(64, 'a'), other = std::string(63, 'a') + "b";
  EXPECT_EQ(binding_label_of(exact), exact);
  EXPECT_EQ(binding_label_of(longer).size(), 40u);
  EXPECT_NE(binding_label_of(longer), binding_label_of(other));
}

}  // namespace
}  // namespace cardcage
