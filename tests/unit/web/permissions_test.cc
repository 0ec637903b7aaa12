#include "web/server/permissions.h"

#include <gmock/gmock.h>

#include "tests/unit/web/reviews_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

class PermissionsTest : public ReviewsFixture {
 protected:
  void SetUp() override {
    ReviewsFixture::SetUp();
    const std::string url = api.url();
    auto credentials =
        Credentials::from_service_account(clock, {"127.0.0.1", url.substr(url.rfind(':') + 1), account.path()});
    ASSERT_TRUE(credentials) << credentials.error().message;
    session.emplace(core, clock, std::move(*credentials),
                    ApiPace{.request_timeout = 20s, .first_pause = 1ms, .longest_pause = 20ms});
    permissions.emplace(clock, *session);
  }
  static Task<void> ask(Permissions& permissions, std::string subject, ReviewedAction action,
                        std::optional<bool>& ended) {
    ended = co_await permissions.may(std::move(subject), std::move(action));
  }
  // Whether the subject may open a page through the API server.
  bool may(const std::string& subject, const std::string& pod = "web-1") {
    ReviewedAction action{.verb = "get", .group = "", .resource = "pods", .subresource = "proxy"};
    action.name_space = "cardcage";
    action.name = pod;
    std::optional<bool> ended;
    spawn(core, ask(*permissions, subject, action, ended));
    EXPECT_TRUE(finishes([&] { return ended.has_value(); }));
    return ended.value_or(false);
  }
  std::string alice() { return visitor("alices").value_or(Visitor{}).subject; }

  std::optional<ApiSession> session;
  std::optional<Permissions> permissions;
};

TEST_F(PermissionsTest, TheApiServerDecidesForTheVisitor) {
  const std::string subject = alice();
  EXPECT_FALSE(may(subject));
  api.allow("alice", "get", "/pods/proxy/cardcage/web-2");
  EXPECT_TRUE(may(subject, "web-2"));
  EXPECT_FALSE(may(subject, "web-3")) << "another pod";
}

TEST_F(PermissionsTest, WithoutASubjectTheServersOwnUserCounts) {
  EXPECT_FALSE(may("", "web-1"));
  api.allow(FakeApiServer::kSelf, "get", "/pods/proxy/cardcage/web-2");
  EXPECT_TRUE(may("", "web-2"));
  EXPECT_EQ(count("selfsubjectaccessreviews"), 2u);
}

TEST_F(PermissionsTest, DecisionsAreRemembered) {
  const std::string subject = alice();
  EXPECT_FALSE(may(subject));
  api.allow("alice", "get", "/pods/proxy/cardcage/web-1");
  clock.advance(9s);
  EXPECT_FALSE(may(subject)) << "for ten seconds";
  clock.advance(1s);
  EXPECT_TRUE(may(subject));
  api.inject({.status = 500, .target = "subjectaccessreviews", .times = 1000});
  clock.advance(59s);
  EXPECT_TRUE(may(subject)) << "for a minute";
}

TEST_F(PermissionsTest, WithoutADecisionNoOneMay) {
  api.allow("alice", "get", "/pods/proxy/cardcage/web-1");
  const std::string subject = alice();
  api.go_down();
  EXPECT_FALSE(may(subject));
  EXPECT_FALSE(may("not JSON"));
}

}  // namespace
}  // namespace cardcage
