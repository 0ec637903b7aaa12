#include "host/core/task_group.h"

#include <gmock/gmock.h>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace cardcage {
namespace {

class TaskGroupTest : public CoreFixture {
 protected:
  void begin_join() {
    spawn(core, [](TaskGroupTest& test) -> Task<void> {
      co_await test.group.join(test.clock, test.clock.now() + std::chrono::seconds(10));
      test.joined = true;
    }(*this));
    settle();
  }
  static Task<void> wait_for(Wakeup& event) { co_await event.wait(); }

  FakeClock clock;
  TaskGroup group{core};
  Wakeup first{core}, second{core};
  bool joined = false;
};

TEST_F(TaskGroupTest, AnEmptyGroupIsJoinedAtOnce) {
  begin_join();
  EXPECT_TRUE(joined);
}

TEST_F(TaskGroupTest, JoinReturnsWhenTheLastCoroutineHasReturned) {
  group.spawn(wait_for(first));
  group.spawn(wait_for(second));
  begin_join();
  first.wake();
  settle();
  EXPECT_FALSE(joined);
  second.wake();
  settle();
  EXPECT_TRUE(joined);
}

TEST_F(TaskGroupTest, JoinGivesUpAtItsDeadline) {
  group.spawn(wait_for(first));
  begin_join();
  clock.advance(std::chrono::seconds(9));
  settle();
  EXPECT_FALSE(joined);
  clock.advance(std::chrono::seconds(1));
  settle();
  EXPECT_TRUE(joined);
  first.wake();
  settle();
}

}  // namespace
}  // namespace cardcage
