#include "host/supervision/event_queue.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using std::chrono::seconds;
using ::testing::SizeIs;

constexpr Instant kNow{seconds(9)};

class EventQueueTest : public ::testing::Test {
 protected:
  EventQueueTest() { queue.open(); }
  bool hear(const std::string& text) { return queue.add(KernelMessage{Instant(seconds(1)), text}); }

  bool is_due() const { return queue.due() != Instant::max(); }

  EventQueue queue{{.kernel_log = {"NVRM: Xid", "mlx5"}, .uevents = {"pci"}}};
};

Event message(const std::string& text) {
  return {.type = EventType::kKernelLog, .time = Instant(seconds(1)), .text = text};
}

TEST_F(EventQueueTest, TakesMessagesThatBeginAsDeclaredAndUeventsOfTheSubsystems) {
  EXPECT_TRUE(hear("NVRM: Xid (PCI:0000:3b:00): 79"));
  EXPECT_FALSE(hear("usb: NVRM: Xid"));
  EXPECT_TRUE(hear("mlx5_core 0000:17:00.0: link down"));
  EXPECT_TRUE(queue.add(Uevent{kNow, "pci", "ACTION=remove\n"}));
  EXPECT_FALSE(queue.add(Uevent{kNow, "pci_bus", "ACTION=remove\n"}));
  const Event uevent{.type = EventType::kUevent, .time = kNow, .text = "ACTION=remove\n"};
  EXPECT_EQ(
      queue.take(kNow),
      (EventBatch{{message("NVRM: Xid (PCI:0000:3b:00): 79"), message("mlx5_core 0000:17:00.0: link down"), uevent},
                  false}));
  EXPECT_FALSE(is_due());
}

TEST_F(EventQueueTest, DropsTheOldestOfTooManyAndSaysSo) {
  for (std::size_t i = 0; i < kMaxEvents + 2; ++i) hear("mlx5 " + std::to_string(i));
  const EventBatch batch = queue.take(kNow);
  EXPECT_THAT(batch.events, SizeIs(kMaxEvents));
  EXPECT_EQ(batch.events.front(), message("mlx5 2"));
  EXPECT_TRUE(batch.lost);
  hear("mlx5");
  EXPECT_FALSE(queue.take(kNow).lost) << "it is reported once";
}

TEST_F(EventQueueTest, BoundsTheText) {
  const std::string text = "mlx5" + std::string(4092, 'x');
  for (int i = 0; i < 17; ++i) hear(text);
  const EventBatch batch = queue.take(kNow);
  EXPECT_THAT(batch.events, SizeIs(16));
  EXPECT_TRUE(batch.lost);
  for (int i = 0; i < 16; ++i) hear(text);
  EXPECT_FALSE(queue.take(kNow).lost);
}

TEST_F(EventQueueTest, ALossOfASourceIsABatch) {
  EXPECT_TRUE(queue.note_loss());
  EXPECT_TRUE(is_due());
  EXPECT_EQ(queue.take(kNow), (EventBatch{{}, true}));
  EXPECT_FALSE(is_due());
}

TEST_F(EventQueueTest, LossesAloneComeOncePerSecond) {
  queue.note_loss();
  EXPECT_LE(queue.due(), kNow);
  std::ignore = queue.take(kNow);
  queue.note_loss();
  EXPECT_EQ(queue.due(), kNow + seconds(1));
  hear("mlx5");
  EXPECT_LE(queue.due(), kNow) << "an event does not wait";
  EXPECT_TRUE(queue.take(kNow).lost);
}

TEST_F(EventQueueTest, BatchesComeAtABoundedRate) {
  for (int i = 0; i < 100; ++i) {
    hear("mlx5");
    ASSERT_LE(queue.due(), kNow) << i;
    std::ignore = queue.take(kNow);
  }
  hear("mlx5");
  EXPECT_EQ(queue.due(), kNow + std::chrono::milliseconds(10));
}

TEST_F(EventQueueTest, WhileItIsClosedEventsAreDroppedAndTheNextBatchSaysSo) {
  hear("mlx5 before");
  queue.close();
  EXPECT_FALSE(is_due());
  EXPECT_FALSE(hear("mlx5 while"));
  EXPECT_FALSE(queue.note_loss());
  queue.open();
  EXPECT_FALSE(is_due()) << "a discover follows anyway";
  hear("mlx5 after");
  EXPECT_EQ(queue.take(kNow), (EventBatch{{message("mlx5 after")}, true}));
}

TEST_F(EventQueueTest, AnIdlePauseLosesNothing) {
  queue.close();
  hear("of others");
  queue.open();
  hear("mlx5");
  EXPECT_FALSE(queue.take(kNow).lost);
}

TEST_F(EventQueueTest, DescriptorsWaitWhileItIsClosedAndComeOnce) {
  queue.close();
  EXPECT_FALSE(queue.add_descriptor(7));
  EXPECT_FALSE(queue.add_descriptor(7));
  queue.open();
  ASSERT_TRUE(is_due());
  const Event ready{.type = EventType::kDescriptor, .time = kNow, .text = {}, .descriptor = 7};
  EXPECT_EQ(queue.take(kNow), (EventBatch{{ready}, false}));
  for (int i = 0; i < 1000; ++i) queue.add_descriptor(i);
  EXPECT_THAT(queue.take(kNow).events, SizeIs(kMaxDescriptors)) << "a worker may send anything";
}

TEST_F(EventQueueTest, ABatchThatMayNotHaveArrivedIsLostButForItsDescriptors) {
  hear("mlx5");
  queue.add_descriptor(7);
  const EventBatch batch = queue.take(kNow);
  queue.put_back(batch);
  const EventBatch next = queue.take(kNow);
  ASSERT_THAT(next.events, SizeIs(1));
  EXPECT_EQ(next.events[0].descriptor, 7);
  EXPECT_TRUE(next.lost);
  queue.put_back({{message("mlx5")}, false});
  EXPECT_FALSE(is_due()) << "a module that fails is not called over and over";
}

}  // namespace
}  // namespace cardcage
