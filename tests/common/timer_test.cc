// The timer of a module, on a host that records the descriptors to poll.
#include "modules/common/timer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>

#include <memory>
#include <vector>

namespace cardcage::hardware {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class TimerTest : public ::testing::Test {
 protected:
  TimerTest() {
    host_.struct_size = sizeof host_;
    host_.host_data = this;
    host_.extension = [](const cage_host*, const char* id) -> const void* {
      return std::string_view(id) == CAGE_HOST_POLL ? &kPoll : nullptr;
    };
  }
  cage::Host host() const { return cage::Host(&host_); }
  static bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }
  static bool is_ready(int descriptor, milliseconds limit) {
    pollfd one{.fd = descriptor, .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, static_cast<int>(limit.count())) == 1;
  }
  static cage::Event event_of(int descriptor) {
    cage::Event event{};
    event.type = cage::Event::Type::descriptor;
    event.descriptor = descriptor;
    return event;
  }
  int polled() const { return added.size() == 1 ? added[0] : -1; }

  cage_status answer = CAGE_OK;  // the result for a descriptor to poll
  std::vector<int> added, removed;
  int open_when_removed = 0;

 private:
  static TimerTest& self(const cage_host* host) { return *static_cast<TimerTest*>(host->host_data); }
  static const cage_poll kPoll;
  cage_host host_{};
};

const cage_poll TimerTest::kPoll = {sizeof(cage_poll), 0,
                                    [](const cage_host* host, std::int32_t descriptor) {
                                      self(host).added.push_back(descriptor);
                                      return self(host).answer;
                                    },
                                    [](const cage_host* host, std::int32_t descriptor) {
                                      self(host).removed.push_back(descriptor);
                                      self(host).open_when_removed += is_open(descriptor) ? 1 : 0;
                                      return cage_status{CAGE_OK};
                                    }};

TEST_F(TimerTest, ExpiresAgainAndAgainAndEachEventIsTakenOnce) {
  Timer timer(host());
  timer.start(milliseconds(5));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(is_ready(polled(), seconds(10)));
    EXPECT_TRUE(timer.take(event_of(polled())));
  }
  timer.stop();
}

TEST_F(TimerTest, AnEventThatIsNotDueIsNotTaken) {
  Timer timer(host());
  timer.start(hours(1));
  EXPECT_FALSE(is_ready(polled(), milliseconds(0)));
  EXPECT_FALSE(timer.take(event_of(polled()))) << "it has not expired";
  timer.stop();
}

TEST_F(TimerTest, EventsOfOthersAreNotTaken) {
  Timer timer(host());
  timer.start(milliseconds(1));
  ASSERT_TRUE(is_ready(polled(), seconds(10)));
  EXPECT_FALSE(timer.take(event_of(polled() + 1)));
  cage::Event other = event_of(polled());
  other.type = cage::Event::Type::uevent;
  EXPECT_FALSE(timer.take(other));
  EXPECT_TRUE(timer.take(event_of(polled()))) << "it is still there";
  timer.stop();
}

TEST_F(TimerTest, StopsOnce) {
  Timer timer(host());
  timer.stop();
  EXPECT_THAT(removed, IsEmpty()) << "it was not started";
  timer.start(hours(1));
  timer.stop();
  timer.stop();
  EXPECT_THAT(removed, ElementsAre(polled()));
  EXPECT_EQ(open_when_removed, 1) << "the host stops polling before the descriptor is closed";
  EXPECT_FALSE(is_open(polled()));
  EXPECT_FALSE(timer.take(event_of(polled())));
}

TEST_F(TimerTest, StartsAgainAfterAStop) {
  Timer timer(host());
  timer.start(hours(1));
  timer.stop();
  added.clear();
  timer.start(milliseconds(1));
  ASSERT_TRUE(is_ready(polled(), seconds(10)));
  EXPECT_TRUE(timer.take(event_of(polled())));
  timer.stop();
}

TEST_F(TimerTest, AStartThatFailsLeavesNoDescriptor) {
  Timer timer(host());
  answer = CAGE_RESOURCE_EXHAUSTED;
  EXPECT_THROW(timer.start(hours(1)), cage::Error);
  ASSERT_NE(polled(), -1);
  EXPECT_FALSE(is_open(polled()));
  timer.stop();
  EXPECT_THAT(removed, IsEmpty()) << "the host does not poll it";
  added.clear();
  answer = CAGE_OK;
  timer.start(hours(1));
  EXPECT_TRUE(is_open(polled()));
  timer.stop();
}

TEST_F(TimerTest, NoDescriptorOutlivesIt) {
  auto timer = std::make_unique<Timer>(host());
  timer->start(hours(1));
  timer.reset();
  ASSERT_NE(polled(), -1);
  EXPECT_FALSE(is_open(polled()));
}

}  // namespace
}  // namespace cardcage::hardware
