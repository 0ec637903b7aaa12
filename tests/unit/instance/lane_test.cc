#include "host/instance/lane.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>

namespace cardcage {
namespace {

using ::testing::SizeIs;

TEST(LaneTest, RunsJobsInOrderAndFinishesTheQueueBeforeItEnds) {
  std::vector<int> done;
  {
    Lane lane("test");
    for (int i = 0; i < 100; ++i) lane.post([&done, i] { done.push_back(i); });
  }
  ASSERT_THAT(done, SizeIs(100));
  EXPECT_TRUE(std::ranges::is_sorted(done));
}

TEST(LaneTest, ItsDestructorDoesNotWaitOnceItIsLeftAlone) {
  const auto released = std::make_shared<std::atomic<bool>>(false), ended = std::make_shared<std::atomic<bool>>(false);
  {
    Lane lane("test");
    lane.post([released] { released->wait(false); });
    lane.post([ended] {
      ended->store(true);
      ended->notify_all();
    });
    lane.leave_alone();
  }
  EXPECT_FALSE(ended->load());
  released->store(true);
  released->notify_all();
  ended->wait(false);
}

}  // namespace
}  // namespace cardcage
