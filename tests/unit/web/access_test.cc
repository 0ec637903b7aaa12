#include "tests/unit/web/web_world.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class WebAccessTest : public WebWorld {};

TEST_F(WebAccessTest, NobodyGetsAnythingWithoutASession) {
  for (const char* path : {"/", "/page.js", "/nothing", "/?token=", "/?token=abc"})
    EXPECT_THAT(ask("GET", path), AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("run the program again"))) << path;
  EXPECT_THAT(ask("GET", "/api/v1/echo"), AllOf(StartsWith("HTTP/1.1 401"), HasSubstr(R"({"error":"not signed in)")));
  EXPECT_THAT(ask("GET", "/", fmt::format("Cookie: cardcage_session_{}=abc\r\n", port)), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask("POST", "/api/v1/act", command_headers(), "{}"), StartsWith("HTTP/1.1 401"));
}

TEST_F(WebAccessTest, ATokenWorksOnce) {
  const std::string address = "/?token=" + access.token();
  EXPECT_THAT(ask("HEAD", address), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask("GET", "/page.js?token=" + access.token()), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask("GET", address.substr(0, address.size() - 1) + "x"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask("GET", address),
              AllOf(StartsWith("HTTP/1.1 303"), HasSubstr("\r\nLocation: /\r\n"),
                    HasSubstr(fmt::format("\r\nSet-Cookie: cardcage_session_{}=", port)),
                    HasSubstr("; HttpOnly; SameSite=Strict; Path=/\r\n"), Not(HasSubstr(access.token()))));
  EXPECT_THAT(ask("GET", address), StartsWith("HTTP/1.1 401"));
}

TEST_F(WebAccessTest, TheCookieIsTheSession) {
  EXPECT_THAT(visit("GET", "/"), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("<p>index</p>")));
  EXPECT_THAT(ask("GET", "/", "Cookie: a=b; " + session() + "; c=d\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask("GET", "/", "Cookie: " + session() + "0\r\n"), StartsWith("HTTP/1.1 401"));
}

TEST_F(WebAccessTest, EveryTokenIsDifferent) {
  const OneTimeToken other("", false);
  EXPECT_EQ(other.token().size(), 64u);
  EXPECT_NE(other.token(), access.token());
}

TEST_F(WebAccessTest, AnotherNameOfTheServerIsRefused) {
  const auto ask_host = [&](std::string_view host) {
    RawClient client(port);
    client.send(fmt::format("GET / HTTP/1.1\r\n{}Cookie: {}\r\nConnection: close\r\n\r\n", host, session()));
    return client.read_all();
  };
  for (const std::string& name :
       {std::string("evil.example"), fmt::format("evil.example:{}", port), std::string("127.0.0.1"),
        std::string("127.0.0.1:1"), fmt::format("127.0.0.1.evil.example:{}", port), std::string("other.example"),
        std::string("other.example:81"), std::string("[::1]"), std::string(""), std::string(":")})
    EXPECT_THAT(ask_host(fmt::format("Host: {}\r\n", name)), StartsWith("HTTP/1.1 421")) << name;
  EXPECT_THAT(ask_host(""), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask_host(fmt::format("Host: 127.0.0.1:{}\r\nHost: evil.example\r\n", port)), StartsWith("HTTP/1.1 400"));
}

TEST_F(WebAccessTest, TheNamesOfTheSiteAreAccepted) {
  // Without a session; a refused name has another status.
  for (const std::string& name :
       {fmt::format("localhost:{}", port), fmt::format("LOCALHOST:{}", port), fmt::format("[::1]:{}", port),
        std::string("node.example"), std::string("node.example:8080"), std::string("other.example:80")}) {
    RawClient client(port);
    client.send(fmt::format("GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", name));
    EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 401")) << name;
  }
}

TEST_F(WebAccessTest, CommandsOfOtherSitesAreRefused) {
  const std::string origin = fmt::format("Origin: http://127.0.0.1:{}\r\n", port);
  const std::string type = "Content-Type: application/json; charset=utf-8\r\n", marker = "X-Cardcage-Request: 1\r\n";
  const auto act = [&](const std::string& headers) { return visit("POST", "/api/v1/act", headers, "{}"); };
  EXPECT_THAT(act(origin + type + marker), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("nothing{}")));
  EXPECT_THAT(act(type + marker), StartsWith("HTTP/1.1 403"));
  const std::string behind_a_proxy = "Origin: http://127.0.0.1:8001\r\n" + type + marker;
  EXPECT_THAT(act(behind_a_proxy + "Sec-Fetch-Site: same-origin\r\n"), StartsWith("HTTP/1.1 200"));
  for (const char* site : {"cross-site", "same-site", "none", ""})
    EXPECT_THAT(act(fmt::format("{}Sec-Fetch-Site: {}\r\n", behind_a_proxy, site)), StartsWith("HTTP/1.1 403")) << site;
  for (const std::string& other :
       {fmt::format("http://localhost:{}", port), std::string("http://127.0.0.1:1"), std::string("http://127.0.0.1"),
        std::string("null"), fmt::format("http://127.0.0.1:{}.evil.example", port)})
    EXPECT_THAT(act("Origin: " + other + "\r\n" + type + marker), StartsWith("HTTP/1.1 403")) << other;
  EXPECT_THAT(act(origin + type), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(act(origin + type + "X-Cardcage-Request: 2\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(act(origin + marker), StartsWith("HTTP/1.1 415"));
  EXPECT_THAT(act(origin + marker + "Content-Type: text/plain\r\n"), StartsWith("HTTP/1.1 415"));
}

class ReadOnlyWebTest : public WebWorld {
 protected:
  ReadOnlyWebTest() : WebWorld({}, false) {}
};

TEST_F(ReadOnlyWebTest, RefusesCommands) {
  EXPECT_THAT(visit("POST", "/api/v1/act", command_headers(), "{}"),
              AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("read-only")));
  EXPECT_THAT(visit("GET", "/api/v1/echo?text=a"), StartsWith("HTTP/1.1 200"));
}

}  // namespace
}  // namespace cardcage
