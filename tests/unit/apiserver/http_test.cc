#include "host/apiserver/http.h"

#include <gmock/gmock.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <thread>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_api_server.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class HttpTest : public CoreFixture {
 protected:
  std::shared_ptr<HttpPeer> peer() {
    auto made = std::make_shared<HttpPeer>();
    made->url = server.url();
    made->ca_pem = server.certificates().ca;
    return made;
  }
  void SetUp() override {
    server.put("nodes", {{"metadata", {{"name", "n1"}, {"uid", "u1"}}}});
    peer_ = peer();
  }
  Result<HttpResponse> get(HttpRequest request, Duration timeout = 30s) {
    return run(client->request(peer_, std::move(request), timeout), 60s);
  }
  void expect_works() {
    const auto response = get_node();
    EXPECT_TRUE(response) << response.error().message;
  }
  Result<HttpResponse> get_node() { return get({.path = "/api/v1/nodes/n1"}); }
  Code code_of(const Result<HttpResponse>& response) { return response ? Code::kOk : response.error().code; }

  FakeApiServer server;
  std::unique_ptr<HttpClient> client = std::make_unique<HttpClient>(core);
  std::shared_ptr<const HttpPeer> peer_;
};

TEST_F(HttpTest, ResponsesAreCompleteWhateverTheirStatus) {
  const auto found = get_node();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->status, 200);
  EXPECT_THAT(found->body, HasSubstr("\"uid\":\"u1\""));
  const auto missing = get({.path = "/api/v1/nodes/n2"});
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->status, 404);
}

TEST_F(HttpTest, ManyRequestsReuseOneConnection) {
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(get_node());
  EXPECT_EQ(server.connections(), 1u);
}

TEST_F(HttpTest, BodiesAndTokensArrive) {
  auto known = peer();
  known->bearer_token = "t0ken";
  server.require_token("t0ken");
  EXPECT_EQ(get_node()->status, 401);
  peer_ = known;
  const auto created = get({.method = "POST", .path = "/api/v1/nodes", .body = R"({"metadata":{"name":"n9"}})"});
  ASSERT_TRUE(created);
  EXPECT_EQ(created->status, 201);
  EXPECT_EQ(get({.method = "DELETE", .path = "/api/v1/nodes/n9"})->status, 200);
  EXPECT_THAT(server.names("nodes"), ElementsAre("n1"));
}

TEST_F(HttpTest, AServerOfAnotherAuthorityIsRefused) {
  auto other = peer();
  other->ca_pem = TestCertificates::make("another authority").ca;
  peer_ = other;
  const auto refused = get_node();
  ASSERT_EQ(code_of(refused), Code::kUnauthenticated) << refused.error().message;
  EXPECT_THAT(refused.error().message, HasSubstr("its certificate is not trusted"));
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpTest, AnAuthorityOfTheSameNameWithAnotherKeyIsRefused) {
  auto other = peer();
  other->ca_pem = TestCertificates::make().ca;
  peer_ = other;
  const auto refused = get_node();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("the TLS handshake failed"));
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpTest, AServerOfAnotherNameIsRefused) {
  auto other = peer();
  other->url.replace(
      other->url.find("127.0.0.1"), 9,
      "127.0.0.2");  // the server listens on all of 127/8, but its certificate does not name this address
  peer_ = other;
  EXPECT_NE(code_of(get_node()), Code::kOk);
}

TEST_F(HttpTest, AnAuthorityThatIsNotPemIsNamed) {
  auto other = peer();
  other->ca_pem = "not a certificate";
  peer_ = other;
  const auto refused = get_node();
  ASSERT_EQ(code_of(refused), Code::kUnauthenticated) << refused.error().message;
  EXPECT_THAT(refused.error().message, HasSubstr("certificate authority"));
}

TEST_F(HttpTest, AClientCertificateIsPresented) {
  auto known = peer();
  known->client_certificate_pem = server.certificates().client;
  known->client_key_pem = server.certificates().client_key;
  peer_ = known;
  ASSERT_TRUE(get_node());
  EXPECT_EQ(server.requests().at(0).client_subject, "system:node:test");
}

TEST_F(HttpTest, TheSecondAddressOfANameIsTriedWhenTheFirstRefuses) {
  auto named = peer();
  named->url.replace(named->url.find("127.0.0.1"), 9, "localhost");  // resolves to ::1 first, where no server listens
  peer_ = named;
  expect_works();
}

TEST_F(HttpTest, ARefusedConnectionIsReported) {
  server.go_down();
  const auto refused = get_node();
  ASSERT_EQ(code_of(refused), Code::kUnavailable);
  EXPECT_EQ(refused.error().message, "connection refused");
  server.come_up();
  expect_works();
}

TEST_F(HttpTest, AResetConnectionIsUnavailable) {
  server.inject(
      {.kind = Fault::Kind::kReset, .times = 2});  // libcurl itself retries once after a reused connection breaks
  EXPECT_EQ(code_of(get_node()), Code::kUnavailable);
}

TEST_F(HttpTest, ASilentRequestTimesOutAndTheNextOneWorks) {
  ASSERT_TRUE(get_node());
  server.inject({.kind = Fault::Kind::kSilence});
  const auto silent = get({.path = "/api/v1/nodes/n1"}, 50ms);
  ASSERT_EQ(code_of(silent), Code::kDeadlineExceeded);
  EXPECT_EQ(silent.error().message, "no response within 0.05 s");
  expect_works();
}

TEST_F(HttpTest, AHugeResponseIsRefused) {
  server.inject({.kind = Fault::Kind::kHuge});
  const auto huge = get({.path = "/api/v1/nodes/n1"});
  ASSERT_EQ(code_of(huge), Code::kInternal);
  EXPECT_THAT(huge.error().message, HasSubstr("larger than 16777216 bytes"));
}

TEST_F(HttpTest, RetryAfterIsRead) {
  server.inject({.status = 429, .headers = "Retry-After: 7\r\n"});
  const auto busy = get_node();
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->status, 429);
  EXPECT_EQ(busy->retry_after, 7s);
  server.inject({.status = 429, .headers = "Retry-After: 9223372036854775807\r\n"});
  EXPECT_EQ(get_node()->retry_after, 1h) << "longer than any deadline";
}

Task<void> request_into(HttpClient& client, std::shared_ptr<const HttpPeer> peer, std::optional<Code>& ended) {
  HttpRequest request{.path = "/api/v1/nodes/n1"};
  const auto response = co_await client.request(std::move(peer), std::move(request), 30s);
  ended = response ? Code::kOk : response.error().code;
}

TEST_F(HttpTest, ACancelledRequestEndsAtOnce) {
  server.inject({.kind = Fault::Kind::kSilence});
  asio::cancellation_signal cancel;
  std::optional<Code> ended;
  asio::co_spawn(core, request_into(*client, peer_, ended),
                 asio::bind_cancellation_slot(cancel.slot(), asio::detached));
  while (server.requests().empty()) core.run_for(1ms);
  cancel.emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_EQ(ended, Code::kCancelled);
  expect_works();
}

TEST_F(HttpTest, ParallelRequestsAllEnd) {
  std::array<std::optional<Code>, 50> ended;
  for (auto& one : ended) spawn(core, request_into(*client, peer_, one));
  const Instant end = std::chrono::steady_clock::now() + 30s;
  while (!std::ranges::all_of(ended, [](const auto& one) { return one.has_value(); }) &&
         std::chrono::steady_clock::now() < end)
    core.run_for(1ms);
  EXPECT_TRUE(std::ranges::all_of(ended, [](const auto& one) { return one == Code::kOk; }));
}

TEST_F(HttpTest, TheClientMayBeDestroyedBeforeItsRequests) {
  server.inject({.kind = Fault::Kind::kSilence});
  std::optional<Code> ended;
  {
    HttpClient other(core);
    spawn(core, request_into(other, peer_, ended));
    while (server.requests().empty()) core.run_for(1ms);
  }
  EXPECT_EQ(ended, std::nullopt);  // the coroutine's frame is freed with the core
}

class HttpStreamTest : public HttpTest {
 protected:
  // Runs the watch until it ends. Calls `act` as soon as the server has received it.
  Result<HttpResponse> watch(std::function<void()> act, std::size_t max_body = std::size_t{16} << 20,
                             Duration max_pause = Duration::max()) {
    std::optional<Result<HttpResponse>> ended;
    std::function<Status(std::string_view)> take = [this](std::string_view line) -> Status {
      lines.emplace_back(line);
      if (on_line) on_line();
      if (line == "stop") return fail(Code::kAborted, "enough");
      return {};
    };
    HttpRequest request{
        .path = "/apis/resource.k8s.io/v1/resourceslices?watch=1", .max_body = max_body, .max_pause = max_pause};
    std::function<void()> note_begin = [this] {
      begun.push_back(lines.size());
      if (on_begin) on_begin();
    };
    asio::co_spawn(core, client->stream(peer_, std::move(request), 60s, std::move(note_begin), std::move(take)),
                   [&](const std::exception_ptr&, Result<HttpResponse> result) { ended = std::move(result); });
    const Instant end = std::chrono::steady_clock::now() + 60s;
    bool acted = false;
    while (!ended && std::chrono::steady_clock::now() < end) {
      core.restart();
      core.run_for(1ms);
      if (!acted && server.watches() > 0) {
        acted = true;
        act();
      }
    }
    return ended.value_or(fail(Code::kDeadlineExceeded, "the test gave up"));
  }

  std::vector<std::string> lines;
  std::vector<std::size_t> begun;  // the lines before each report that the response begins
  std::function<void()> on_begin, on_line;
};

TEST_F(HttpStreamTest, LinesAreCompleteHoweverTheyArrive) {
  const auto ended = watch([&] {
    server.send_to_watches("one\ntw");
    server.send_to_watches("o\n");
    server.send_to_watches("\nthree\nrest without end");
    server.end_watches();
  });
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(ended->status, 200);
  EXPECT_THAT(lines, ElementsAre("one", "two", "", "three"));
  EXPECT_THAT(begun, ElementsAre(0u));
}

TEST_F(HttpStreamTest, TheBeginIsReportedBeforeTheFirstLine) {
  on_begin = [this] {
    // The server counts a watch just after it has sent the header.
    for (int i = 0; i < 5'000 && server.watches() == 0; ++i) std::this_thread::sleep_for(1ms);
    server.end_watches();
  };
  const auto ended = watch([] {});
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_THAT(lines, IsEmpty());
}

TEST_F(HttpStreamTest, AnErrorOfTheCallbackEndsTheStream) {
  const auto ended = watch([&] { server.send_to_watches("one\nstop\nthree\n"); });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error(), (Error{Code::kAborted, "enough"}));
  EXPECT_THAT(lines, ElementsAre("one", "stop"));
}

TEST_F(HttpStreamTest, AnEndlessLineIsRefused) {
  const auto ended = watch([&] { server.send_to_watches(std::string(200'000, 'x')); }, 100'000);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::kInternal);
}

TEST_F(HttpStreamTest, ManyLinesMayExceedTheLimitTogether) {
  constexpr std::size_t kBatch = 2'000;
  std::string text;
  for (std::size_t i = 0; i < kBatch; ++i) text += "0123456789\n";
  on_line = [&] {  // the next batch follows once this one has been handed out
    if (lines.size() == 10 * kBatch)
      server.end_watches();
    else if (lines.size() % kBatch == 0)
      server.send_to_watches(text);
  };
  const auto ended = watch([&] { server.send_to_watches(text); }, std::size_t{200'000});
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(lines.size(), 10 * kBatch);
}

TEST_F(HttpStreamTest, AServerThatGoesDownEndsTheStream) {
  const auto ended = watch([&] { server.go_down(); });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::kUnavailable);
}

TEST_F(HttpStreamTest, ARequestWithLittleTimeLeavesTheWatchAlone) {
  const auto ended = watch([&] {
    server.inject({.kind = Fault::Kind::kSilence, .times = 3});
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(get({.path = "/api/v1/nodes/n1"}, 100ms));
    server.send_to_watches("one\n");
    server.end_watches();
  });
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_THAT(lines, ElementsAre("one"));
}

TEST_F(HttpStreamTest, AConnectionThatWasSilentForTheLimitWhileARequestWaitedIsClosed) {
  client = std::make_unique<HttpClient>(core, 50ms);
  const auto ended = watch([&] {
    server.inject({.kind = Fault::Kind::kSilence});
    EXPECT_EQ(code_of(get({.path = "/api/v1/nodes/n1"}, 1s)), Code::kDeadlineExceeded);
  });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::kUnavailable) << ended.error().message;
  expect_works();
}

TEST_F(HttpStreamTest, AStreamWithoutNewsForTooLongIsLost) {
  const auto ended = watch([&] { server.send_to_watches("one\n"); }, 1'000'000, 100ms);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error(), (Error{Code::kDataLoss, "nothing came for 0.1 s"}));
}

TEST_F(HttpStreamTest, ARefusalIsReturnedAsABody) {
  server.inject({.status = 410});
  const auto ended = watch([] {});
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->status, 410);
  EXPECT_THAT(ended->body, HasSubstr("injected fault 410"));
  EXPECT_TRUE(lines.empty());
  EXPECT_TRUE(begun.empty());
}

}  // namespace
}  // namespace cardcage
