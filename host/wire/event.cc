// Converts the events of a module and its subscription.
#include <algorithm>

#include "host/wire/messages.h"

namespace cardcage {
namespace {

// Drops empty prefixes, which would match every message.
std::vector<std::string> watched(const google::protobuf::RepeatedPtrField<std::string>& from) {
  std::vector<std::string> texts = read(from);
  std::erase_if(texts, [](const std::string& text) { return text.empty() || text.size() > kMaxWatchedText; });
  if (texts.size() > kMaxWatched) texts.resize(kMaxWatched);
  return texts;
}

}  // namespace

void write(const WatchDeclaration& from, wire::Watch& to) {
  write(from.kernel_log, *to.mutable_kernel_log());
  write(from.uevents, *to.mutable_uevents());
}

// The worker enforces these rules as well, unless the module has overwritten its memory.
WatchDeclaration read(const wire::Watch& from) { return {watched(from.kernel_log()), watched(from.uevents())}; }

void write(const EventBatch& from, wire::Events& to) {
  for (const Event& event : from.events) {
    wire::Event& out = *to.add_events();
    out.set_type(static_cast<std::uint32_t>(event.type));
    out.set_time_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(event.time.time_since_epoch()).count());
    out.set_text(event.text);
    out.set_descriptor(event.descriptor);
  }
  to.set_lost(from.lost);
}

EventBatch read(const wire::Events& from) {
  EventBatch batch;
  for (const wire::Event& in : from.events())
    batch.events.push_back({.type = static_cast<EventType>(std::clamp(in.type(), 1u, 3u)),
                            .time = Instant(std::chrono::nanoseconds(in.time_ns())),
                            .text = in.text(),
                            .descriptor = in.descriptor()});
  batch.lost = from.lost();
  return batch;
}

}  // namespace cardcage
