// The times of retries, on a clock that the tests step.
#include <boost/asio/bind_cancellation_slot.hpp>

#include "tests/fakes/fake_clock.h"
#include "tests/unit/apiserver/api_server_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ApiServerPaceTest : public ApiServerFixture {
 protected:
  // Runs until the call has ended or sleeps.
  template <class T>
  void start(Task<Result<T>> task, std::optional<Result<T>>& result) {
    begin(std::move(task), result);
    run_until([&] { return result || clock.sleepers() > 0; });
  }
  void SetUp() override {
    ApiServerFixture::SetUp();
    connect(clock);
    ASSERT_TRUE(run(api->get_claim("ns", "c1", clock.now() + 5s)));
  }
  FakeClock clock;
};

TEST_F(ApiServerPaceTest, ACallWaitsAsLongAsRetryAfterSays) {
  server.inject({.status = 429, .headers = "Retry-After: 3\r\n"});
  std::optional<Result<Claim>> result;
  start(api->get_claim("ns", "c1", clock.now() + 10s), result);
  clock.advance(2900ms);
  settle();
  EXPECT_EQ(clock.sleepers(), 1u);
  EXPECT_FALSE(result);
  clock.advance(100ms);
  run_until([&] { return result.has_value(); });
  ASSERT_TRUE(result);
  EXPECT_TRUE(*result);
}

TEST_F(ApiServerPaceTest, RetryAfterPastTheDeadlineFailsAtOnce) {
  server.inject({.status = 429, .headers = "Retry-After: 30\r\n"});
  const auto busy = run(api->get_claim("ns", "c1", clock.now() + 10s));
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, Code::kResourceExhausted);
  EXPECT_THAT(busy.error().message, HasSubstr("the server is overloaded"));
}

TEST_F(ApiServerPaceTest, ACreateIsRetriedAfter429) {
  server.inject({.status = 429, .headers = "Retry-After: 1\r\n"});
  std::optional<Result<Slice>> result;
  start(api->create_slice(slice(), clock.now() + 10s), result);
  ASSERT_EQ(clock.sleepers(), 1u);
  clock.advance(1s);
  run_until([&] { return result.has_value(); });
  EXPECT_TRUE(result && *result);
}

TEST_F(ApiServerPaceTest, WhileTheServerRefusesSlicesThereIsOneRequestAtATimeForThem) {
  server.inject({.status = 429, .headers = "Retry-After: 1\r\n", .target = kSlices});
  std::optional<Result<Slice>> first;
  std::optional<Result<std::vector<PublishedPool>>> second;
  start(api->create_slice(slice(), clock.now() + 10s), first);
  asio::co_spawn(core, api->list_pools("d.example.com", clock.now() + 10s),
                 [&second](const std::exception_ptr&, auto ended) { second = std::move(ended); });
  run_until([&] { return clock.sleepers() == 2; });
  EXPECT_EQ(count_requests("GET", kSlices), 0u);
  EXPECT_TRUE(run(api->get_claim("ns", "c1", clock.now() + 10s))) << "a pod waits for it";
  clock.advance(1s);
  run_until([&] { return first && second; });
  EXPECT_TRUE(*first);
  EXPECT_TRUE(*second);
}

TEST_F(ApiServerPaceTest, ARefusedSliceIsTriedForAMinuteWithLongerPauses) {
  for (int i = 0; i < 20; ++i) server.inject({.status = 429, .headers = "Retry-After: 1\r\n", .target = kSlices});
  const Instant begin = clock.now();
  std::optional<Result<Slice>> result;
  start(api->create_slice(slice(), begin + 10s), result);
  while (!result && clock.now() < begin + 2min) {
    clock.advance(1s);
    settle();
    run_until([&] { return result || clock.sleepers() > 0; });
  }
  ASSERT_TRUE(result);
  EXPECT_EQ(result->error().code, Code::kResourceExhausted);
  EXPECT_GE(clock.now() - begin, 40s);
  EXPECT_LE(clock.now() - begin, 60s);
  const std::size_t attempts = count_requests("POST", kSlices);
  EXPECT_GE(attempts, 6u);
  EXPECT_LE(attempts, 10u);
}

TEST_F(ApiServerPaceTest, ACallThatIsCancelledBeforeItsTurnIsNotRefused) {
  ASSERT_TRUE(run(api->get_node("n1", clock.now() + 5s)));
  server.inject({.status = 429, .headers = "Retry-After: 3\r\n"});
  std::optional<Result<std::vector<PublishedPool>>> refused, cancelled;
  begin(api->list_pools("d.example.com", clock.now() + 10s), refused);
  run_until([&] { return clock.sleepers() == 1; });
  asio::cancellation_signal cancel;
  begin(api->list_pools("d.example.com", clock.now() + 10s), cancelled, cancel.slot());
  run_until([&] { return clock.sleepers() == 2; });
  cancel.emit(asio::cancellation_type::terminal);
  run_until([&] { return cancelled.has_value(); });
  EXPECT_EQ((*cancelled).error().code, Code::kCancelled);
  clock.advance(10s);
  run_until([&] { return refused.has_value(); });
}

TEST_F(ApiServerPaceTest, ADeadlineInThePastIsAnError) {
  EXPECT_EQ(run(api->get_claim("ns", "c1", clock.now())).error().code, Code::kUnavailable);
}

Task<void> watch_for_good(ApiServer& api, std::string& version) {
  std::function<void(SliceEvent)> ignore = [](const SliceEvent&) {};
  (void)co_await api.watch_slices("d.example.com", "n1", version, std::move(ignore));
}

class ApiServerOutageTest : public ApiServerPaceTest {
 protected:
  // Starts to read a claim, whose next attempt is due later than the test lasts.
  void read_claim_in_outage() {
    server.go_down();
    start(api->get_claim("ns", "c1", clock.now() + 10s), claim);
    ASSERT_EQ(clock.sleepers(), 1u);
    server.come_up();
    settle();
    EXPECT_FALSE(claim);
  }
  std::optional<Result<Claim>> claim;
};

TEST_F(ApiServerOutageTest, TheFirstSuccessOfAnyCallEndsThePauseOfAClaim) {
  read_claim_in_outage();
  ASSERT_TRUE(run(api->get_node("n1", clock.now() + 5s)));
  run_until([&] { return claim.has_value(); });
  EXPECT_TRUE(claim && *claim);
}

TEST_F(ApiServerOutageTest, CallsTryAgainEachSecondAndListsDoNot) {
  first_pause = 5s;
  connect(clock);
  ASSERT_TRUE(run(api->get_node("n1", clock.now() + 5s)));
  read_claim_in_outage();
  clock.advance(1s);
  run_until([&] { return claim.has_value(); });
  EXPECT_TRUE(claim && *claim);

  server.go_down();
  std::optional<Result<std::vector<PublishedPool>>> pools;
  start(api->list_pools("d.example.com", clock.now() + 10s), pools);
  server.come_up();
  clock.advance(2s);
  settle();
  EXPECT_EQ(clock.sleepers(), 1u);
  clock.advance(3s);
  run_until([&] { return pools.has_value(); });
  EXPECT_TRUE(*pools);
}

TEST_F(ApiServerOutageTest, SoDoesAWatchThatBegins) {
  read_claim_in_outage();
  std::string version = "100";
  spawn(core, watch_for_good(*api, version));
  run_until([&] { return claim.has_value(); });
  EXPECT_TRUE(claim && *claim);
}

TEST_F(ApiServerOutageTest, ASuccessLeavesThePausesOfAServerInTroubleAlone) {
  server.inject({.status = 503, .target = "resourceclaims"});
  start(api->get_claim("ns", "c1", clock.now() + 10s), claim);
  ASSERT_TRUE(run(api->get_node("n1", clock.now() + 5s)));
  settle();
  EXPECT_FALSE(claim);
  EXPECT_EQ(clock.sleepers(), 1u);
}

TEST_F(ApiServerOutageTest, ASuccessLeavesRetryAfterAlone) {
  server.inject({.status = 429, .headers = "Retry-After: 3\r\n", .target = "resourceclaims"});
  start(api->get_claim("ns", "c1", clock.now() + 10s), claim);
  server.go_down();
  std::optional<Result<ClusterNode>> node;
  begin(api->get_node("n1", clock.now() + 10s), node);
  run_until([&] { return clock.sleepers() == 2; });
  server.come_up();
  clock.advance(1s);
  run_until([&] { return node.has_value(); });
  EXPECT_TRUE(*node);
  settle();
  EXPECT_FALSE(claim);
  EXPECT_EQ(clock.sleepers(), 1u);
}

TEST_F(ApiServerPaceTest, ACallThatWaitsForItsRetryCanBeCancelled) {
  server.inject({.status = 503});
  asio::cancellation_signal cancel;
  std::optional<Result<Claim>> ended;
  begin(api->get_claim("ns", "c1", clock.now() + 10s), ended, cancel.slot());
  run_until([&] { return clock.sleepers() > 0; });
  cancel.emit(asio::cancellation_type::terminal);
  settle();
  ASSERT_TRUE(ended && !*ended);
  EXPECT_EQ(ended->error().code, Code::kCancelled);
}

}  // namespace
}  // namespace cardcage
