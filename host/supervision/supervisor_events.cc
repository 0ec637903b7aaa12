// Delivers events to the modules that wait for them.
#include "host/core/log.h"
#include "host/supervision/supervisor.h"

namespace cardcage {

// Called before the instance is created, which gets every event during its start.
void Supervisor::watch_events(const std::shared_ptr<Module>& instance) {
  const auto& watch = instance->identity().watch;
  if (!watch) return;
  auto& events = watched_[instance.get()];
  events = std::make_unique<InstanceEvents>(*watch, listener_.sources, clock_, [this] { wakeup_.wake(); });
  events->open();
}

InstanceEvents* Supervisor::events_of(const std::shared_ptr<Module>& instance) const {
  const auto found = watched_.find(instance.get());
  return found == watched_.end() ? nullptr : found->second.get();
}

Instant Supervisor::events_due() const {
  const InstanceEvents* const events = events_of(module_);
  return events ? events->due() : Instant::max();
}

Task<void> Supervisor::deliver_events() {
  const auto instance = module_;
  const EventBatch batch = events_of(instance)->take();
  log(LogLevel::kDebug, "events are delivered",
      {{"module", config().name}, {"events", batch.events.size()}, {"lost", batch.lost ? "some before them" : "none"}});
  EventsCall events{batch};
  const Status delivered = co_await instance->call(std::move(events), clock_.now() + deadlines_.discover);
  if (delivered || life_.lost()) co_return;
  log_limited(LogLevel::kWarn, config().name + "/events", "events are not handled; they are not repeated",
              {{"module", config().name}, {"error", delivered.error().message}});
  events_of(instance)->put_back(batch);
}

}  // namespace cardcage
