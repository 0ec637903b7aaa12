#include "host/core/shared_call.h"

#include <gmock/gmock.h>

#include <boost/asio/bind_cancellation_slot.hpp>

#include "host/core/wakeup.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

class SharedCallTest : public CoreFixture {
 protected:
  static Task<Result<int>> make(SharedCallTest& test) {
    const int number = ++test.calls;
    co_await test.response.wait();
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return fail(Code::kCancelled, "cancelled");
    if (test.failure) co_return std::unexpected(*test.failure);
    co_return number;
  }
  static Task<void> get(SharedCallTest& test, std::optional<Result<int>>& result, Instant deadline = Instant::max()) {
    SharedCall<int>::Call call = [&test] { return make(test); };
    result = co_await test.shared.get(std::move(call), deadline);
  }
  void start(std::optional<Result<int>>& result, Instant deadline = Instant::max()) {
    asio::co_spawn(core, get(*this, result, deadline), asio::detached);
    settle();
  }
  void respond() {
    response.wake();
    settle();
  }

  FakeClock clock;
  Wakeup response{core};
  std::optional<Error> failure;
  int calls = 0;
  SharedCall<int> shared{core, clock, "read a number", 2s};
  std::optional<Result<int>> first, second;
};

TEST_F(SharedCallTest, CallersShareTheCallUnderWay) {
  start(first);
  start(second);
  EXPECT_FALSE(first);
  respond();
  EXPECT_EQ(first, Result<int>(1));
  EXPECT_EQ(second, Result<int>(1));
  EXPECT_EQ(calls, 1);
}

TEST_F(SharedCallTest, ASuccessIsKeptForATime) {
  start(first);
  respond();
  clock.advance(1900ms);
  start(second);
  EXPECT_EQ(second, Result<int>(1));
  clock.advance(200ms);
  start(first);
  respond();
  EXPECT_EQ(first, Result<int>(2));
}

TEST_F(SharedCallTest, AFailureReachesTheCallersUnderWayAndNoOthers) {
  failure = Error{Code::kUnavailable, "down"};
  start(first);
  start(second);
  respond();
  EXPECT_EQ(first->error(), *failure);
  EXPECT_EQ(second->error(), *failure);
  failure.reset();
  start(first);
  respond();
  EXPECT_EQ(first, Result<int>(2));
}

TEST_F(SharedCallTest, ACallerWaitsForAnotherUntilItsDeadline) {
  start(first);
  start(second, clock.now() + 1s);
  clock.advance(1s);
  settle();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->error(),
            (Error{Code::kUnavailable, "read a number: another caller's request for the same takes too long"}));
  EXPECT_FALSE(first);
  start(second, clock.now());
  EXPECT_EQ(second->error().code, Code::kUnavailable);
  respond();
  EXPECT_EQ(first, Result<int>(1));
  EXPECT_EQ(calls, 1);
}

TEST_F(SharedCallTest, TheNextCallerCallsAgainWhenTheFirstIsCancelled) {
  asio::cancellation_signal cancel;
  asio::co_spawn(core, get(*this, first), asio::bind_cancellation_slot(cancel.slot(), asio::detached));
  settle();
  start(second);
  cancel.emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(second);
  respond();
  EXPECT_EQ(second, Result<int>(2));
}

}  // namespace
}  // namespace cardcage
