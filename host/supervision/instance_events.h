// The kernel events and descriptors that wake an instance.
#pragma once

#include <functional>
#include <memory>

#include "host/core/clock.h"
#include "host/events/event_sources.h"
#include "host/supervision/event_queue.h"

namespace cardcage {

// [core] Lives from before the instance is created until it has stopped.
class InstanceEvents {
 public:
  // `arrived` is called when due() may have become earlier. Without `sources` only descriptors arrive. All arguments
  // outlive the object.
  InstanceEvents(const WatchDeclaration& watch, EventSources* sources, Clock& clock, std::function<void()> arrived);
  InstanceEvents(const InstanceEvents&) = delete;
  InstanceEvents& operator=(const InstanceEvents&) = delete;

  void open() { queue_.open(); }
  void close() { queue_.close(); }
  void note_descriptor(std::int32_t descriptor);
  // See EventQueue, here and below.
  Instant due() const { return queue_.due(); }
  EventBatch take() { return queue_.take(clock_.now()); }
  void put_back(const EventBatch& batch) { queue_.put_back(batch); }

 private:
  template <class What>
  void note(const What& what);

  Clock& clock_;
  const std::function<void()> arrived_;
  EventQueue queue_;
  std::unique_ptr<EventSources::Subscription> subscription_;
};

}  // namespace cardcage
