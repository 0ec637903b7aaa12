#include "host/metrics/health_counters.h"

namespace cardcage {

HealthCounters::HealthCounters(prometheus::Registry& registry)
    : events_(prometheus::BuildCounter()
                  .Name("cardcage_health_events_total")
                  .Help("what has happened to the health of devices, by cause")
                  .Register(registry)) {}

void HealthCounters::note(const HealthEvent& event) {
  std::set<std::string>& causes = causes_[event.device.module];
  const bool known = causes.contains(event.cause) || causes.size() < kMaxCauses;
  if (known) causes.insert(event.cause);
  events_
      .Add({{"module", event.device.module},
            {"cause", known ? event.cause : "other"},
            {"kind", std::string(to_string(event.kind))}})
      .Increment();
}

}  // namespace cardcage
