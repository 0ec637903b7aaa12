// Undelivered events of one instance [R20].
#pragma once

#include <deque>
#include <set>
#include <string_view>

#include "host/core/rate_limit.h"
#include "host/events/kernel_record.h"
#include "host/model/event.h"

namespace cardcage {

// Pure and bounded: the oldest events beyond the limit are dropped, and the next batch says so. A descriptor that stays
// ready, or a flood, costs 100 batches at once, and then 100 per second; without an event it is one per second.
class EventQueue {
 public:
  explicit EventQueue(WatchDeclaration watch);

  // Each returns whether the instance has something new to receive.
  bool add(const KernelMessage& message);
  bool add(const Uevent& event);
  // A source has dropped events that may have been for this instance.
  bool note_loss();
  // A descriptor stays queued until delivery, also while the queue is closed.
  bool add_descriptor(std::int32_t descriptor);

  // Events are dropped while the queue is closed, and the first batch after that says so.
  void open() { open_ = true; }
  void close();

  // Returns the earliest time for the next batch; Instant::max() without one. A loss alone makes a batch, unless it
  // happened while the queue was closed.
  Instant due() const;
  // Takes all queued events. `now` becomes the time of the descriptors.
  EventBatch take(Instant now);
  // Puts back a batch that may not have been delivered: its descriptors are queued again, and the next batch says that
  // the other events are lost.
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
