#include "host/instance/descriptor_poll.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/eventfd.h>

#include "tests/fakes/eventually.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;

class DescriptorPollTest : public ::testing::Test {
 protected:
  std::vector<std::int32_t> reported() {
    const std::lock_guard lock(mutex);
    return reports;
  }
  [[nodiscard]] bool reports_so_many(std::size_t count) {
    return eventually([this, count] { return reported().size() >= count; });
  }
  static UniqueFd counter() { return UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

  std::mutex mutex;
  std::vector<std::int32_t> reports;
  DescriptorPoll poll{[this](std::int32_t descriptor) {
    const std::lock_guard lock(mutex);
    reports.push_back(descriptor);
  }};
};

TEST_F(DescriptorPollTest, ReportsOnceUntilItIsRearmed) {
  const UniqueFd first = counter(), second = counter();
  ASSERT_TRUE(poll.add(first.get()));
  ASSERT_TRUE(poll.add(second.get()));
  ::eventfd_write(first.get(), 1);
  ASSERT_TRUE(reports_so_many(1));
  EXPECT_TRUE(poll.is_ready(first.get()));
  EXPECT_FALSE(poll.is_ready(second.get()));
  ::eventfd_write(first.get(), 1);
  ::eventfd_write(second.get(), 1);
  ASSERT_TRUE(reports_so_many(2));
  EXPECT_THAT(reported(), ElementsAre(first.get(), second.get()));
  poll.rearm(first.get());
  ASSERT_TRUE(reports_so_many(3)) << "it is still readable";
}

TEST_F(DescriptorPollTest, ANumberThatIsUsedAgainStartsAnew) {
  UniqueFd first = counter();
  const int number = first.get();
  ASSERT_TRUE(poll.add(number));
  ::eventfd_write(number, 1);
  ASSERT_TRUE(reports_so_many(1));
  first = UniqueFd();
  UniqueFd next = counter();
  ASSERT_EQ(next.get(), number);
  ASSERT_TRUE(poll.add(number)) << "the kernel has forgotten the closed descriptor";
  EXPECT_FALSE(poll.is_ready(number));
  EXPECT_EQ(poll.add(number).error().code, Code::kAlreadyExists);
}

TEST_F(DescriptorPollTest, ACloseForgetsAllAndAnAddStartsAnew) {
  const UniqueFd one = counter();
  poll.close();
  ASSERT_TRUE(poll.add(one.get()));
  ::eventfd_write(one.get(), 1);
  ASSERT_TRUE(reports_so_many(1));
  poll.close();
  EXPECT_FALSE(poll.is_ready(one.get()));
  EXPECT_EQ(poll.remove(one.get()).error().code, Code::kNotFound);
  poll.rearm(one.get());
  ASSERT_TRUE(poll.add(one.get()));
  ASSERT_TRUE(reports_so_many(2));
}

TEST_F(DescriptorPollTest, AnEndThatIsClosedCountsAsReady) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  ASSERT_TRUE(poll.add(reader.get()));
  writer = UniqueFd();
  ASSERT_TRUE(reports_so_many(1));
}

}  // namespace
}  // namespace cardcage
