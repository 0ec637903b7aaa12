#include "host/core/contact.h"

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

Task<void> wait_into(Contact& contact, Clock& clock, Instant due, Duration spread, bool& ended) {
  co_await contact.wait_to_retry(clock, due, spread);
  ended = true;
}

class ContactTest : public CoreFixture {
 protected:
  void wait(Duration pause, Duration spread) {
    ended = false;
    asio::co_spawn(core, wait_into(contact, clock, clock.now() + pause, spread, ended),
                   asio::bind_cancellation_slot(cancel.slot(), asio::detached));
    settle();
  }
  void pass(Duration time) {
    clock.advance(time);
    settle();
  }

  FakeClock clock;
  Contact contact{core, 1};
  asio::cancellation_signal cancel;
  bool ended = false;
};

TEST_F(ContactTest, ARetryWaitsForItsTime) {
  contact.lost();
  wait(10s, 1s);
  pass(9s);
  EXPECT_FALSE(ended);
  pass(1s);
  EXPECT_TRUE(ended);
}

TEST_F(ContactTest, ASuccessAfterAFailureEndsThePause) {
  contact.lost();
  wait(30s, 1s);
  pass(1s);
  contact.made();
  settle();
  pass(1s);
  EXPECT_TRUE(ended);
  wait(30s, 0s);
  contact.lost();
  contact.made();
  settle();
  EXPECT_TRUE(ended) << "without a spread it ends at once";
  EXPECT_EQ(contact.recoveries(), 2u);
}

TEST_F(ContactTest, APeerThatRespondsWithAnErrorIsNotAwayAndEndsNoPause) {
  contact.lost();
  EXPECT_TRUE(contact.is_away());
  wait(10s, 0s);
  contact.heard();
  EXPECT_FALSE(contact.is_away());
  pass(9s);
  EXPECT_FALSE(ended);
  contact.made();
  settle();
  EXPECT_TRUE(ended);
}

TEST_F(ContactTest, ASpreadNeverMakesAPauseLonger) {
  contact.lost();
  for (int i = 0; i < 20; ++i) {
    wait(1s, 1h);
    contact.made();
    settle();
    contact.lost();
    pass(1s);
    EXPECT_TRUE(ended);
  }
}

TEST_F(ContactTest, SuccessesWithoutAFailureEndNoPause) {
  wait(10s, 0s);
  contact.made();
  contact.made();
  pass(9s);
  EXPECT_FALSE(ended);
  EXPECT_EQ(contact.recoveries(), 0u);
}

TEST_F(ContactTest, ACancelledRetryEndsAndIsForgotten) {
  contact.lost();
  wait(10s, 1s);
  cancel.emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_EQ(clock.sleepers(), 0u);
  contact.made();
  settle();
}

TEST(ContactOrderTest, ARetryMayBeDestroyedAfterTheContact) {
  FakeClock clock;
  bool ended = false;
  asio::io_context core;
  {
    Contact contact(core, 1);
    spawn(core, wait_into(contact, clock, clock.now() + 1s, 1s, ended));
    core.poll();
  }
}

}  // namespace
}  // namespace cardcage
