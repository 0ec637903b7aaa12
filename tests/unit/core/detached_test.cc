#include "host/core/detached.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>

#include "tests/fakes/core_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

class DetachedTest : public CoreFixture {
 protected:
  SystemClock clock;
};

TEST_F(DetachedTest, ReturnsTheResultOfTheThread) {
  const std::thread::id core_thread = std::this_thread::get_id();
  std::function<bool()> work = [core_thread] { return std::this_thread::get_id() != core_thread; };
  const auto apart = run(run_detached(core, clock, std::move(work), Instant::max()), 30s);
  ASSERT_TRUE(apart);
  EXPECT_TRUE(*apart);
}

// Sets the flag when its thread ends. A promise can do that, too, but in a way that the thread sanitizer does not see.
struct EndOfThread {
  std::atomic<bool>& ended;
  ~EndOfThread() { ended = true; }
};

TEST_F(DetachedTest, LeavesAThreadBehindThatDoesNotEnd) {
  std::promise<void> go_on;
  std::atomic<bool> ended = false;
  std::function<int()> work = [blocked = go_on.get_future().share(), &ended] {
    blocked.wait();
    thread_local EndOfThread end{ended};
    return 1;
  };
  EXPECT_FALSE(run(run_detached(core, clock, std::move(work), clock.now() + 10ms), 30s));
  go_on.set_value();
  EXPECT_TRUE(runs_until([&] { return ended.load(); }));
  settle();
}

}  // namespace
}  // namespace cardcage
