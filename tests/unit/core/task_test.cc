#include "host/core/task.h"

#include <gmock/gmock.h>

#include <thread>

#include "host/core/wakeup.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace cardcage {
namespace {

using TaskTest = CoreFixture;

TEST_F(TaskTest, OneShotBringsAValueFromAnotherThread) {
  const OneShot<int> shot(core);
  std::jthread other([shot] { shot.set(7); });
  EXPECT_EQ(run(shot.wait()), 7);
}

TEST_F(TaskTest, OneShotGivesUpAtTheDeadlineAndTheLateValueIsDropped) {
  const OneShot<int> shot(core);
  SystemClock clock;
  EXPECT_EQ(run(shot.wait_until(clock, clock.now() + std::chrono::milliseconds(5))), std::nullopt);
  shot.set(7);
  settle();
}

TEST_F(TaskTest, OneShotKeepsTheFirstValue) {
  const OneShot<int> shot(core);
  shot.set(1);
  shot.set(2);
  EXPECT_EQ(run(shot.wait()), 1);
}

TEST_F(TaskTest, AFakeClockWakesOnlySleepersThatAreDue) {
  FakeClock clock;
  int woken = 0;
  for (int seconds : {1, 5}) {
    spawn(core, [](FakeClock& c, int s, int& count) -> Task<void> {
      co_await c.sleep_for(std::chrono::seconds(s));
      ++count;
    }(clock, seconds, woken));
  }
  settle();
  EXPECT_EQ(clock.sleepers(), 2u);
  clock.advance(std::chrono::seconds(1));
  settle();
  EXPECT_EQ(woken, 1);
  clock.advance(std::chrono::seconds(4));
  settle();
  EXPECT_EQ(woken, 2);
}

Task<void> count_wakeups(Wakeup& wakeup, FakeClock& clock, int& count) {
  for (;;) {
    co_await wakeup.wait_for(clock, std::chrono::seconds(10));
    ++count;
  }
}

TEST_F(TaskTest, AWakeupComesFromAnEventOrFromTheClock) {
  FakeClock clock;
  Wakeup wakeup(core);
  int count = 0;
  wakeup.wake();
  wakeup.wake();
  spawn(core, count_wakeups(wakeup, clock, count));
  settle();
  EXPECT_EQ(count, 1) << "a wake before the wait is remembered once";
  wakeup.wake();
  settle();
  EXPECT_EQ(count, 2);
  clock.advance(std::chrono::seconds(9));
  settle();
  EXPECT_EQ(count, 2);
  clock.advance(std::chrono::seconds(1));
  settle();
  EXPECT_EQ(count, 3);
  EXPECT_EQ(clock.sleepers(), 1u) << "the sleep of an ended wait is gone";
}

}  // namespace
}  // namespace cardcage
