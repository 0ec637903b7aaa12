#include "host/instance/lane_pool.h"

#include <gmock/gmock.h>

#include <set>

namespace cardcage {
namespace {

using ::testing::SizeIs;

TEST(LanePoolTest, RunsEveryJobAtOnceAndUsesIdleThreadsAgain) {
  LanePool pool("test");
  std::atomic<int> running = 0;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  const auto run_three = [&] {
    for (int i = 0; i < 3; ++i)
      pool.post([&] {
        {
          const std::lock_guard lock(mutex);
          threads.insert(std::this_thread::get_id());
        }
        ++running;
        running.notify_all();
        for (int now = running; now < 3; now = running) running.wait(now);  // ends only if all three run
      });
    LanePool::wait_until_ended(*pool.jobs());
  };
  run_three();
  running = 0;
  run_three();
  EXPECT_THAT(threads, SizeIs(3));
}

}  // namespace
}  // namespace cardcage
