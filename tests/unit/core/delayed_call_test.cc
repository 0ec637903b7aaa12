#include "host/core/delayed_call.h"

#include <gmock/gmock.h>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace cardcage {
namespace {

using std::chrono::seconds;

class DelayedCallTest : public CoreFixture {
 protected:
  void pass(seconds duration) {
    clock.advance(duration);
    settle();
  }

  FakeClock clock;
  std::optional<DelayedCall> call{std::in_place, core, clock};
  int calls = 0;
};

TEST_F(DelayedCallTest, CallsOnceAfterThePause) {
  call->call_after(seconds(2), [this] { ++calls; });
  EXPECT_TRUE(call->pending());
  settle();
  pass(seconds(1));
  EXPECT_EQ(calls, 0);
  pass(seconds(1));
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(call->pending());
  pass(seconds(9));
  EXPECT_EQ(calls, 1);
}

TEST_F(DelayedCallTest, IsTakenBackByItsEnd) {
  call->call_after(seconds(2), [this] { ++calls; });
  settle();
  call.reset();
  pass(seconds(2));
  EXPECT_EQ(calls, 0);
}

TEST_F(DelayedCallTest, IsTakenBackEvenWhenItIsDue) {
  call->call_after(seconds(2), [this] { ++calls; });
  settle();
  clock.advance(seconds(2));
  call.reset();
  settle();
  EXPECT_EQ(calls, 0);
}

TEST_F(DelayedCallTest, ALaterCallReplacesTheFirst) {
  call->call_after(seconds(1), [this] { calls += 10; });
  call->call_after(seconds(2), [this] { ++calls; });
  settle();
  pass(seconds(2));
  EXPECT_EQ(calls, 1);
}

TEST_F(DelayedCallTest, TheFunctionMayDestroyIt) {
  call->call_after(seconds(1), [this] {
    call.reset();
    ++calls;
  });
  settle();
  pass(seconds(1));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace cardcage
