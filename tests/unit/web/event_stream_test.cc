#include "tests/unit/web/web_world.h"

namespace cardcage {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::chrono::seconds kWait{60};

class EventStreamTest : public WebWorld {
 protected:
  explicit EventStreamTest(WebLimits limits = {}) : WebWorld(limits) {}
  void open(RawClient& client) {
    client.send(request("GET", "/api/v1/watch", fmt::format("Cookie: {}\r\n", session()), "", false));
    EXPECT_THAT(client.read_until("\r\n\r\n"),
                AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Content-Type: text/event-stream\r\n"),
                      HasSubstr("Content-Security-Policy"), HasSubstr("Cache-Control: no-store")));
  }
};

TEST_F(EventStreamTest, SendsEventsAsTheyCome) {
  RawClient client(port);
  open(client);
  count_up();
  EXPECT_EQ(client.read_until("\n\n"), "event: count\ndata: 1\n\n");
  count_up();
  EXPECT_EQ(client.read_until("\n\n"), "event: count\ndata: 2\n\n");
}

TEST_F(EventStreamTest, ForgetsAReaderThatHasGone) {
  RawClient client(port);
  open(client);
  client.close();
  EXPECT_EQ(source_gone->get_future().wait_for(kWait), std::future_status::ready);
  count_up();  // calls a stream that has ended
}

TEST_F(EventStreamTest, EndsWithTheServer) {
  RawClient client(port);
  open(client);
  stop();
  EXPECT_EQ(client.read_all(), "");
  count_up();
}

TEST_F(EventStreamTest, AnOpenStreamIsUse) {
  RawClient client(port);
  open(client);
  const Instant first = core.call([&] { return server->last_used(); });
  EXPECT_GT(core.call([&] { return server->last_used(); }), first);
}

class ImpatientServerTest : public EventStreamTest {
 protected:
  ImpatientServerTest()
      : EventStreamTest({.request = milliseconds(300),
                         .idle = milliseconds(300),
                         .response = milliseconds(300),
                         .ping = milliseconds(20)}) {}
};

TEST_F(ImpatientServerTest, SendsCommentsWhileNothingHappens) {
  RawClient client(port);
  open(client);
  EXPECT_EQ(client.read_until("\n\n"), ": ping\n\n");
  EXPECT_EQ(client.read_until("\n\n"), ": ping\n\n");
}

TEST_F(ImpatientServerTest, DropsAReaderThatDoesNotRead) {
  padding.assign(std::size_t{64} << 20, 'x');  // more than the kernel keeps for a connection
  RawClient client(port);
  open(client);
  count_up();
  EXPECT_EQ(source_gone->get_future().wait_for(kWait), std::future_status::ready);
}

TEST_F(ImpatientServerTest, DropsAClientThatSendsTooSlowly) {
  for (const char* text : {"", "G", "GET / HTTP/1.1\r\nHost: a\r\n"}) {
    RawClient client(port);
    client.send(text);
    EXPECT_EQ(client.read_all(), "") << text;
  }
  RawClient client(port);
  client.send(request("POST", "/api/v1/act",
                      fmt::format("Cookie: {}\r\nContent-Length: 100\r\n{}", session(), command_headers()), "", false));
  EXPECT_EQ(client.read_all(), "");
}

TEST_F(ImpatientServerTest, ClosesAConnectionThatIsIdle) {
  RawClient client(port);
  client.send(request("GET", "/page.js", fmt::format("Cookie: {}\r\n", session()), "", false));
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 200"));
}

class ShortStreamTest : public WebWorld {
 protected:
  ShortStreamTest() : WebWorld({.stream = std::chrono::milliseconds(50)}) {}
};

// A browser begins another one, whose visitor is admitted again.
TEST_F(ShortStreamTest, AStreamEndsAfterItsTime) {
  EXPECT_THAT(visit("GET", "/api/v1/watch"), HasSubstr("Content-Type: text/event-stream"));
}

}  // namespace
}  // namespace cardcage
