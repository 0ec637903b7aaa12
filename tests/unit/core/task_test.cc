#include "host/core/task.h"

#include <gmock/gmock.h>

#include <thread>

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
  EXPECT_EQ(run(shot.wait_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(5))), std::nullopt);
  shot.set(7);
  settle();
}

TEST_F(TaskTest, OneShotKeepsTheFirstValue) {
  const OneShot<int> shot(core);
  shot.set(1);
  shot.set(2);
  EXPECT_EQ(run(shot.wait()), 1);
}

TEST_F(TaskTest, AFakeClockWakesOnlyWhoIsDue) {
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

}  // namespace
}  // namespace cardcage
