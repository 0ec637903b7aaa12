#include "host/apiserver/restraint.h"

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <deque>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

class RestraintTest : public CoreFixture {
 protected:
  struct Call {
    std::optional<Restraint::Turn> turn;
    bool ended = false;  // the wait for the turn
    asio::cancellation_signal cancel;
  };
  static Task<void> wait_into(Restraint& restraint, Instant deadline, Call& call) {
    call.turn = co_await restraint.take_turn(deadline);
    call.ended = true;
  }
  Call& start(Duration limit = 1h) {
    Call& call = calls.emplace_back();
    asio::co_spawn(core, wait_into(restraint, clock.now() + limit, call),
                   asio::bind_cancellation_slot(call.cancel.slot(), asio::detached));
    settle();
    return call;
  }
  void end(Call& call) {
    call.turn.reset();
    settle();
  }
  void pass(Duration time) {
    clock.advance(time);
    settle();
  }

  FakeClock clock;
  Restraint restraint{core, clock, 1};
  std::deque<Call> calls;
};

TEST_F(RestraintTest, AllCallsBeginAtOnceUnlessTheServerRefusesOne) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(start().turn);
}

TEST_F(RestraintTest, AfterARefusalCallsBeginOneAtATimeInTheirOrder) {
  restraint.note_refusal(1s);
  Call& first = start();
  Call& second = start();
  Call& third = start();
  EXPECT_FALSE(first.turn);
  pass(1s);
  EXPECT_TRUE(first.turn);
  EXPECT_FALSE(second.turn);
  end(first);
  EXPECT_TRUE(second.turn);
  EXPECT_FALSE(third.turn);
  end(second);
  EXPECT_TRUE(third.turn);
}

TEST_F(RestraintTest, ACallThatIsCancelledAtItsTurnPassesItOn) {
  Call& first = start();
  restraint.note_refusal(0s);
  Call& second = start();
  Call& third = start();
  pass(1s);
  second.cancel.emit(asio::cancellation_type::terminal);
  end(first);
  EXPECT_FALSE(second.turn);
  EXPECT_TRUE(third.turn);
}

TEST_F(RestraintTest, ACallUnderWayAtTheRefusalHasATurn) {
  Call& first = start();
  restraint.note_refusal(1s);
  Call& second = start();
  pass(5s);
  EXPECT_FALSE(second.turn);
  end(first);
  EXPECT_TRUE(second.turn);
}

TEST_F(RestraintTest, CallsBeginAtOnceAgainAfterAWhileWithoutRefusals) {
  Call& slow = start();
  const Duration pause = restraint.note_refusal(1s);
  Call& second = start();
  pass(pause + 29s);
  EXPECT_FALSE(second.turn);
  pass(1s);
  EXPECT_TRUE(slow.turn && second.turn);
  EXPECT_TRUE(start().turn);
}

TEST_F(RestraintTest, EachRefusalMakesThePauseLonger) {
  EXPECT_EQ(restraint.note_refusal(3s), 3s) << "the server's own wish";
  for (const Duration longest : {2s, 4s, 8s, 16s, 16s}) {
    const Duration pause = restraint.note_refusal(0s);
    EXPECT_GE(pause, longest / 2);
    EXPECT_LE(pause, longest);
  }
  pass(1min);
  EXPECT_LE(restraint.note_refusal(0s), 1s) << "another overload";
}

TEST_F(RestraintTest, AWaitEndsWithItsDeadlineOrWhenItIsCancelled) {
  restraint.note_refusal(10s);
  Call& late = start(2s);
  Call& cancelled = start();
  pass(2s);
  EXPECT_TRUE(late.ended && !late.turn);
  cancelled.cancel.emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_FALSE(cancelled.turn);
  pass(8s);
  EXPECT_TRUE(start().turn) << "they hold no turn";
}

}  // namespace
}  // namespace cardcage
