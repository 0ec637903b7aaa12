#include "host/supervision/instance_events.h"

namespace cardcage {
InstanceEvents::InstanceEvents(const WatchDeclaration& watch, EventSources* sources, Clock& clock,
                               std::function<void()> arrived)
    : clock_(clock), arrived_(std::move(arrived)), queue_(watch) {
  if (sources == nullptr || (watch.kernel_log.empty() && watch.uevents.empty())) return;
  EventSources::Listener listener;
  if (!watch.kernel_log.empty()) listener.kernel_message = [this](const KernelMessage& message) { note(message); };
  if (!watch.uevents.empty()) listener.uevent = [this](const Uevent& event) { note(event); };
  listener.lost = [this] {
    if (queue_.note_loss()) arrived_();
  };
  subscription_ = sources->subscribe(std::move(listener));
}

template <class What>
void InstanceEvents::note(const What& what) {
  if (queue_.add(what)) arrived_();
}

void InstanceEvents::note_descriptor(std::int32_t descriptor) {
  if (queue_.add_descriptor(descriptor)) arrived_();
}

}  // namespace cardcage
