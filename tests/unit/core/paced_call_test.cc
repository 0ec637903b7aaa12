#include "host/core/paced_call.h"

#include <gmock/gmock.h>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace cardcage {
namespace {

using std::chrono::seconds;

class PacedCallTest : public CoreFixture {
 protected:
  void pass(seconds duration) {
    settle();
    clock.advance(duration);
    settle();
  }

  FakeClock clock;
  int calls = 0;
  std::optional<PacedCall> call{std::in_place, core, clock, seconds(2), [this] { ++calls; }};
};

TEST_F(PacedCallTest, CallsAtOnceAfterARest) {
  call->request();
  EXPECT_EQ(calls, 1);
  pass(seconds(2));
  EXPECT_EQ(calls, 1);
  call->request();
  EXPECT_EQ(calls, 2);
}

TEST_F(PacedCallTest, JoinsWhatIsRequestedDuringThePause) {
  for (int i = 0; i < 5; ++i) call->request();
  EXPECT_EQ(calls, 1);
  pass(seconds(1));
  EXPECT_EQ(calls, 1);
  pass(seconds(1));
  EXPECT_EQ(calls, 2);
}

TEST_F(PacedCallTest, PausesAfterAJoinedCall) {
  call->request();
  call->request();
  pass(seconds(2));
  call->request();
  EXPECT_EQ(calls, 2);
  pass(seconds(2));
  EXPECT_EQ(calls, 3);
}

TEST_F(PacedCallTest, TakesADueCallBackAtItsEnd) {
  call->request();
  call->request();
  settle();
  clock.advance(seconds(2));
  call.reset();
  settle();
  EXPECT_EQ(calls, 1);
}

TEST_F(PacedCallTest, TheFunctionMayEndIt) {
  call.emplace(core, clock, seconds(2), [this] { call.reset(); });
  call->request();
  EXPECT_FALSE(call);
}

}  // namespace
}  // namespace cardcage
