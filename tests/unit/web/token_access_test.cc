#include "web/server/token_access.h"

#include <gmock/gmock.h>

#include "tests/unit/web/reviews_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TokenAccessTest : public ReviewsFixture {
 protected:
  using Admitted = std::expected<Visitor, WebResponse>;

  void SetUp() override {
    ReviewsFixture::SetUp();
    access = std::make_unique<TokenAccess>(clock, *reviews, "n1");
  }
  static Task<void> admit_into(TokenAccess& access, WebRequest request, std::optional<Admitted>& admitted) {
    admitted = co_await access.admit(std::move(request));
  }
  Admitted admit(WebRequest request) {
    std::optional<Admitted> admitted;
    spawn(core, admit_into(*access, std::move(request), admitted));
    EXPECT_TRUE(finishes([&] { return admitted.has_value(); }));
    return admitted.value_or(Visitor{});
  }
  static WebRequest get(std::string path, std::string header = "", std::string value = "") {
    WebRequest request;
    request.method = "GET";
    request.path = std::move(path);
    if (!header.empty()) request.headers.emplace_back(std::move(header), std::move(value));
    return request;
  }
  static WebRequest post(std::string path, std::string header = "", std::string value = "") {
    WebRequest request = get(std::move(path), std::move(header), std::move(value));
    request.method = "POST";
    return request;
  }
  static std::string header_of(const WebResponse& response, std::string_view name) {
    for (const auto& [key, value] : response.headers)
      if (key == name) return value;
    return "";
  }
  // Returns the Set-Cookie of a new session; empty if it was refused.
  std::string sign_in(const std::string& token) {
    const auto response = admit(post("/session", "X-Cardcage-Token", token));
    return response ? "" : header_of(response.error(), "Set-Cookie");
  }
  static std::string value_of(const std::string& cookie) { return cookie.substr(0, cookie.find(';')); }

  std::unique_ptr<TokenAccess> access;
};

TEST_F(TokenAccessTest, ABearerTokenAdmits) {
  const auto alice = admit(get("/api/v1/status", "Authorization", "Bearer alices"));
  ASSERT_TRUE(alice) << alice.error().body;
  EXPECT_EQ(alice->name, "alice");
  EXPECT_TRUE(admit(get("/api/v1/status", "X-Cardcage-Token", "alices")));
}

TEST_F(TokenAccessTest, WithoutATokenThePageAsksForOne) {
  const auto page = admit(get("/"));
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().status, 401u);
  EXPECT_EQ(header_of(page.error(), "WWW-Authenticate"), "Bearer");
  EXPECT_THAT(page.error().content_type, HasSubstr("text/html"));
  EXPECT_THAT(page.error().fixed_body, AllOf(HasSubstr("src=\"sign-in.js\""), Not(HasSubstr("\"/sign-in"))))
      << "its links are relative, for the API server's proxy";
  const auto data = admit(get("/api/v1/status"));
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().status, 401u);
  EXPECT_EQ(data.error().content_type, "application/json");
  for (const char* file : {"/sign-in.js", "/sign-in.css"}) EXPECT_EQ(admit(get(file)).error().status, 200u) << file;
  EXPECT_EQ(admit(get("/healthz")).error().body, "ok\n") << "for the kubelet";
  EXPECT_EQ(admit(get("/page.js")).error().status, 401u) << "all other files are for visitors";
  EXPECT_TRUE(api.requests().empty());
}

TEST_F(TokenAccessTest, ASessionAdmitsForAnHour) {
  const std::string cookie = sign_in("alices");
  EXPECT_THAT(cookie, AllOf(::testing::StartsWith("cardcage-n1="), HasSubstr("HttpOnly"), HasSubstr("Secure"),
                            HasSubstr("SameSite=Strict"), HasSubstr("Max-Age=3600"), Not(HasSubstr("alices"))));
  EXPECT_TRUE(admit(get("/", "Cookie", "other=1; " + value_of(cookie))));
  clock.advance(59min);
  EXPECT_TRUE(admit(get("/", "Cookie", value_of(cookie))));
  clock.advance(1min);
  EXPECT_EQ(admit(get("/", "Cookie", value_of(cookie))).error().status, 401u);
}

TEST_F(TokenAccessTest, ASessionEndsWithItsToken) {
  const std::string cookie = value_of(sign_in("alices"));
  api.expire_token("alices");
  clock.advance(60s);
  EXPECT_EQ(admit(get("/api/v1/status", "Cookie", cookie)).error().status, 401u);
  api.know_user("alices", "alice");
  clock.advance(60s);
  EXPECT_EQ(admit(get("/api/v1/status", "Cookie", cookie)).error().status, 401u) << "the session is over";
}

TEST_F(TokenAccessTest, SigningOutEndsTheSession) {
  const std::string cookie = value_of(sign_in("alices"));
  const auto out = admit(post("/sign-out", "Cookie", cookie));
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().status, 200u);
  EXPECT_THAT(header_of(out.error(), "Set-Cookie"), HasSubstr("Max-Age=0"));
  EXPECT_EQ(admit(get("/", "Cookie", cookie)).error().status, 401u);
}

TEST_F(TokenAccessTest, WithoutTheRightThereIsNoSession) {
  EXPECT_EQ(sign_in("bobs"), "");
  const auto bob = admit(get("/", "Authorization", "Bearer bobs"));
  ASSERT_FALSE(bob);
  EXPECT_EQ(bob.error().status, 403u);
  EXPECT_THAT(bob.error().body, HasSubstr("bob may not get nodes.cardcage.dev 'n1'"));
}

TEST_F(TokenAccessTest, WrongTokensAndCookiesAreRefused) {
  EXPECT_EQ(sign_in("guessed"), "");
  EXPECT_EQ(sign_in(std::string(1 << 16, 'x')), "");
  for (const char* scheme : {"Basic alices", "Bearer", "Bearer ", "alices"})
    EXPECT_EQ(admit(get("/api/v1/status", "Authorization", scheme)).error().status, 401u) << scheme;
  for (const char* cookie : {"cardcage-n1=", "cardcage-n1=alices", "cardcage-n1", "cardcage-n2=x", "="})
    EXPECT_EQ(admit(get("/api/v1/status", "Cookie", cookie)).error().status, 401u) << cookie;
}

// A page of another site that can have this browser send a request cannot give it a header.
TEST_F(TokenAccessTest, ACookieDoesNotBeginASession) {
  const std::string cookie = value_of(sign_in("alices"));
  const auto again = admit(post("/session", "Cookie", cookie));
  ASSERT_TRUE(again) << "an ordinary request";
}

TEST_F(TokenAccessTest, ItFailsClosedWithoutTheApiServer) {
  const std::string cookie = value_of(sign_in("alices"));
  clock.advance(60s);
  api.go_down();
  const auto away = admit(get("/api/v1/status", "Cookie", cookie));
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().status, 503u);
  EXPECT_THAT(away.error().body, HasSubstr("cannot check who you are"));
  api.come_up();
  EXPECT_TRUE(admit(get("/api/v1/status", "Cookie", cookie))) << "the session is kept meanwhile";
}

TEST_F(TokenAccessTest, TheOldestOfTooManySessionsEnds) {
  const std::string first = value_of(sign_in("alices"));
  clock.advance(1s);
  std::string last;
  for (int i = 0; i < 256; ++i) last = value_of(sign_in("alices"));
  EXPECT_FALSE(admit(get("/", "Cookie", first)));
  EXPECT_TRUE(admit(get("/", "Cookie", last)));
}

}  // namespace
}  // namespace cardcage
