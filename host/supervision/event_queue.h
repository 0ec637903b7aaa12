// What one instance waits for and has not been told yet [R20].
#pragma once

#include <deque>
#include <set>
#include <string_view>

#include "host/core/rate_limit.h"
#include "host/events/kernel_record.h"
#include "host/model/event.h"

namespace cardcage {

// Pure. Bounded: of more than fits, the oldest are dropped, and the next batch says so. A descriptor that stays ready,
// or a flood, costs 100 batches at once, and then 100 per second; without an event it is one per second.
class EventQueue {
 public:
  explicit EventQueue(WatchDeclaration watch);

  // Each returns whether the instance has something new to hear.
  bool add(const KernelMessage& message);
  bool add(const Uevent& event);
  // A source has dropped something, which may have been for this instance.
  bool note_loss();
  // A descriptor waits until it is told, also while the queue is closed.
  bool add_descriptor(std::int32_t descriptor);

  // While it is closed, what happens is dropped, and the first batch after that says so.
  void open() { open_ = true; }
  void close();

  // When the next batch may be told; Instant::max() if there is none. A loss alone is one, unless it happened while the
  // queue was closed.
  Instant due() const;
  // Everything that waits. `now` is the time of the descriptors.
  EventBatch take(Instant now);
  // The instance may not have got this batch: its descriptors are told again, and the next batch says that the others
  // are lost.
  void put_back(const EventBatch& batch);

 private:
  bool add(EventType type, Instant time, const std::string& text);
  void drop_oldest();

  const WatchDeclaration watch_;
  std::deque<Event> events_;
  std::size_t text_ = 0;  // bytes of all events
  std::set<std::int32_t> descriptors_;
  bool open_ = false, lost_ = false, loss_is_due_ = false;
  RateLimit batches_, losses_;
};

}  // namespace cardcage
