#include "host/instance/events_view.h"

#include "host/sinks/lent.h"

namespace cardcage {

EventsView::EventsView(const EventBatch& batch, DescriptorPoll& descriptors)
    : batch_(batch), descriptors_(descriptors) {
  for (const Event& event : batch.events) {
    if (event.type == EventType::kDescriptor && !descriptors_.is_ready(event.descriptor)) continue;
    cage_event& out = events_.emplace_back();
    out.struct_size = sizeof out;
    out.type = static_cast<std::uint32_t>(event.type);
    out.time_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(event.time.time_since_epoch()).count());
    out.text = lent(event.text);
    out.descriptor = event.type == EventType::kDescriptor ? event.descriptor : -1;
  }
  for (const cage_event& event : events_) list_.push_back(&event);
}

EventsView::~EventsView() {
  for (const cage_event& event : events_)
    if (event.type == CAGE_EVENT_DESCRIPTOR) descriptors_.rearm(event.descriptor);
}

}  // namespace cardcage
