#include "web/server/web_server.h"

#include <deque>

#include "tests/unit/web/web_world.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class WebServerTest : public WebWorld {};

TEST_F(WebServerTest, ServesFilesWithTheirTypes) {
  EXPECT_THAT(
      visit("GET", "/page.js"),
      AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("\r\nContent-Type: text/javascript; charset=utf-8\r\n"),
            HasSubstr("\r\nETag: \"page\"\r\n"), HasSubstr("\r\nCache-Control: no-cache\r\n"),
            EndsWith("\r\n\r\nlet page;")));
  EXPECT_THAT(visit("GET", "/?x=y"), EndsWith("<p>index</p>"));
  EXPECT_THAT(visit("GET", "/page.js", "If-None-Match: \"page\"\r\n"),
              AllOf(StartsWith("HTTP/1.1 304"), EndsWith("\r\n\r\n"), Not(HasSubstr("Content-Length"))));
  EXPECT_THAT(visit("GET", "/page.js", "If-None-Match: \"older\"\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(WebServerTest, EveryResponseRestrictsThePage) {
  for (const std::string& response : {ask("GET", "/"), visit("GET", "/"), visit("GET", "/nothing"),
                                      visit("GET", "/api/v1/echo"), visit("POST", "/", command_headers(), "{}")})
    EXPECT_THAT(
        response,
        AllOf(HasSubstr("\r\nContent-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
                        "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
                        "frame-ancestors 'none'\r\n"),
              HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"), HasSubstr("\r\nReferrer-Policy: no-referrer\r\n")));
  EXPECT_THAT(visit("GET", "/api/v1/echo"), HasSubstr("\r\nCache-Control: no-store\r\n"));
}

TEST_F(WebServerTest, OnlyExactPathsLeadToFiles) {
  for (const char* path : {"/nothing", "/page.js/", "/page.js%00", "/page%2ejs", "/./page.js", "//page.js",
                           "/a/../page.js", "/../page.js", "/%2e%2e/page.js", "/..%2fpage.js", "/..\\page.js",
                           "/PAGE.JS", "/etc/passwd", "/index.html", "/api", "/api/v1/"})
    EXPECT_THAT(visit("GET", path), StartsWith("HTTP/1.1 404")) << path;
  for (const char* path : {"page.js", "*", "../page.js", "http://127.0.0.1/page.js"})
    EXPECT_THAT(visit("GET", path), StartsWith("HTTP/1.1 400")) << path;
}

TEST_F(WebServerTest, RoutesMayStandForAllPathsBelow) {
  EXPECT_THAT(visit("GET", "/api/v1/below/a/b?text=c"), EndsWith("\r\n\r\nc"));
  EXPECT_THAT(visit("GET", "/api/v1/below"), StartsWith("HTTP/1.1 404"));
}

TEST_F(WebServerTest, DecodesParameters) {
  EXPECT_THAT(visit("GET", "/api/v1/echo?a=b&text=%3Cscript%3E+%26%2"), EndsWith("\r\n\r\n<script> &%2"));
  EXPECT_THAT(visit("GET", "/api/v1/echo?text"), EndsWith("\r\n\r\n"));
  EXPECT_THAT(visit("GET", "/api/v1/echo"), EndsWith("\r\n\r\nnothing"));
}

TEST_F(WebServerTest, RefusesOtherMethods) {
  EXPECT_THAT(visit("POST", "/page.js", command_headers(), "{}"),
              AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("\r\nAllow: GET, HEAD\r\n")));
  EXPECT_THAT(visit("GET", "/api/v1/act"), AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("\r\nAllow: POST\r\n")));
  EXPECT_THAT(visit("DELETE", "/api/v1/act", command_headers()), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(visit("OPTIONS", "/api/v1/act"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(visit("NONSENSE", "/", command_headers()), StartsWith("HTTP/1.1 405"));
}

TEST_F(WebServerTest, HeadHasNoBody) {
  EXPECT_THAT(visit("HEAD", "/page.js"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("\r\nContent-Length: 9\r\n"), EndsWith("\r\n\r\n")));
  EXPECT_THAT(visit("HEAD", "/api/v1/watch"), AllOf(HasSubstr("text/event-stream"), EndsWith("\r\n\r\n")));
}

TEST_F(WebServerTest, OneConnectionServesRequestsThatWereSentTogether) {
  RawClient client(port);
  const std::string cookie = fmt::format("Cookie: {}\r\n", session());
  client.send(request("GET", "/api/v1/echo?text=first", cookie, "", false) +
              request("POST", "/api/v1/act?text=second", cookie + command_headers(), "{}", false) +
              request("GET", "/page.js", cookie));
  const std::string all = client.read_all();
  EXPECT_THAT(all, AllOf(HasSubstr("\r\n\r\nfirstHTTP/1.1 200"), HasSubstr("\r\n\r\nsecond{}HTTP/1.1 200"),
                         EndsWith("let page;")));
}

TEST_F(WebServerTest, LimitsWhatItReads) {
  const std::string header = "X-Long: " + std::string(20'000, 'x') + "\r\n";
  EXPECT_THAT(visit("GET", "/", header), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(ask("GET", "/" + std::string(20'000, 'x')), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(visit("POST", "/api/v1/act", command_headers(), std::string(20'000, 'x')), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(visit("POST", "/api/v1/act", command_headers() + "Transfer-Encoding: chunked\r\n",
                    "4fff\r\n" + std::string(0x4fff, 'x') + "\r\n0\r\n\r\n"),
              AnyOf(StartsWith("HTTP/1.1 413"), StartsWith("HTTP/1.1 400")));
  EXPECT_THAT(visit("POST", "/api/v1/act", command_headers(), std::string(16'000, 'x')), StartsWith("HTTP/1.1 200"));
}

TEST_F(WebServerTest, SurvivesWhatIsNotHttp) {
  for (const char* text : {"nonsense\r\n\r\n", "GET / HTTP/3.0\r\n\r\n", "\r\n\r\n\r\n", "GET /\r\n\r\n",
                           "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"}) {
    RawClient client(port);
    client.send(text);
    EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 400")) << text;
  }
  EXPECT_THAT(visit("GET", "/"), StartsWith("HTTP/1.1 200"));
}

TEST_F(WebServerTest, CountsTheTimeSinceTheLastRequestOfAVisitor) {
  const Instant before = core.call([&] { return server->last_used(); });
  ask("GET", "/");
  EXPECT_EQ(core.call([&] { return server->last_used(); }), before);
  visit("GET", "/");
  EXPECT_GT(core.call([&] { return server->last_used(); }), before);
}

TEST_F(WebServerTest, ReportsAnAddressThatIsTakenOrInvalid) {
  WebServer other(core.context(), clock, WebSite{}, access);
  const Status taken = core.call([&] { return other.listen(fmt::format("127.0.0.1:{}", port)); });
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("choose another address"));
  EXPECT_FALSE(core.call([&] { return other.listen("localhost:80"); }));
}

TEST_F(WebServerTest, ServesAgainAfterFiveHundredConnections) {
  std::deque<RawClient> crowd;
  for (int i = 0; i < 500; ++i) crowd.emplace_back(port);
  std::deque<RawClient> admitted;
  // Those beyond the limit have been turned away.
  for (std::size_t i = static_cast<std::size_t>(site_limits.connections); i < crowd.size(); ++i)
    EXPECT_THAT(crowd[i].read_all(), AnyOf(StartsWith("HTTP/1.1 503"), IsEmpty()));
  crowd.clear();
  std::string response;
  const Instant end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!response.starts_with("HTTP/1.1 401") && std::chrono::steady_clock::now() < end) response = ask("GET", "/");
  EXPECT_THAT(visit("GET", "/"), StartsWith("HTTP/1.1 200"));
}

}  // namespace
}  // namespace cardcage
