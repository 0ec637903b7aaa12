#include "host/supervision/event_queue.h"

#include <algorithm>
#include <utility>

namespace cardcage {

EventQueue::EventQueue(WatchDeclaration watch)
    : watch_(std::move(watch)), batches_(100, std::chrono::milliseconds(10)), losses_(1, std::chrono::seconds(1)) {}

bool EventQueue::add(const KernelMessage& message) {
  const auto begins = [&](const std::string& beginning) { return message.text.starts_with(beginning); };
  return std::ranges::any_of(watch_.kernel_log, begins) && add(EventType::kKernelLog, message.time, message.text);
}

bool EventQueue::add(const Uevent& event) {
  return std::ranges::find(watch_.uevents, event.subsystem) != watch_.uevents.end() &&
         add(EventType::kUevent, event.time, event.text);
}

bool EventQueue::add(EventType type, Instant time, const std::string& text) {
  if (!open_) {
    lost_ = true;
    return false;
  }
  while (!events_.empty() && (events_.size() == kMaxEvents || text_ + text.size() > kMaxEventText)) drop_oldest();
  text_ += text.size();
  events_.push_back({.type = type, .time = time, .text = text});
  return true;
}

void EventQueue::drop_oldest() {
  text_ -= events_.front().text.size();
  events_.pop_front();
  lost_ = true;
}

bool EventQueue::note_loss() {
  lost_ = true;
  loss_is_due_ |= open_;
  return open_;
}

bool EventQueue::add_descriptor(std::int32_t descriptor) {
  if (descriptors_.size() < kMaxDescriptors) descriptors_.insert(descriptor);
  return open_;
}

void EventQueue::close() {
  open_ = loss_is_due_ = false;
  lost_ |= !events_.empty();
  events_.clear();
  text_ = 0;
}

Instant EventQueue::due() const {
  if (!open_) return Instant::max();
  if (!events_.empty() || !descriptors_.empty()) return batches_.next();
  return loss_is_due_ ? std::max(batches_.next(), losses_.next()) : Instant::max();
}

EventBatch EventQueue::take(Instant now) {
  batches_.take(now);
  if (lost_) losses_.take(now);
  EventBatch batch{.events = {std::make_move_iterator(events_.begin()), std::make_move_iterator(events_.end())},
                   .lost = std::exchange(lost_, false)};
  for (const std::int32_t descriptor : std::exchange(descriptors_, {}))
    batch.events.push_back({.type = EventType::kDescriptor, .time = now, .text = {}, .descriptor = descriptor});
  events_.clear();
  text_ = 0;
  loss_is_due_ = false;
  return batch;
}

void EventQueue::put_back(const EventBatch& batch) {
  for (const Event& event : batch.events) {
    if (event.type == EventType::kDescriptor)
      add_descriptor(event.descriptor);
    else
      lost_ = true;
  }
  lost_ |= batch.lost;
}

}  // namespace cardcage
