// A batch of events as a module sees it.
#pragma once

#include <vector>

#include "cardcage/module.h"
#include "host/instance/descriptor_poll.h"
#include "host/model/event.h"

namespace cardcage {

// [module thread] Lives as long as the call. It leaves out descriptors that the module has removed since they were
// reported; the others are polled again when it ends.
class EventsView {
 public:
  // `batch` and `descriptors` outlive the view.
  EventsView(const EventBatch& batch, DescriptorPoll& descriptors);
  EventsView(const EventsView&) = delete;
  EventsView& operator=(const EventsView&) = delete;
  ~EventsView();

  // True if the batch has no news for the module.
  bool is_empty() const { return events_.empty() && !batch_.lost; }
  const cage_event* const* list() const { return list_.data(); }
  std::uint32_t count() const { return static_cast<std::uint32_t>(list_.size()); }
  std::uint32_t flags() const { return batch_.lost ? CAGE_EVENTS_LOST : 0; }

 private:
  const EventBatch& batch_;
  DescriptorPoll& descriptors_;
  std::vector<cage_event> events_;
  std::vector<const cage_event*> list_;
};

}  // namespace cardcage
