#include "host/metrics/health_counters.h"

namespace cardcage {

void HealthCounters::note(const HealthEvent& event) {
  std::set<std::string>& causes = causes_[event.device.module];
  const bool known = causes.contains(event.cause) || causes.size() < kMaxCauses;
  if (known) causes.insert(event.cause);
  ++events_[{{"cause", known ? event.cause : "other"},
             {"kind", std::string(to_string(event.kind))},
             {"module", event.device.module}}];
}

MetricFamily HealthCounters::family() const {
  MetricFamily family{.name = "cardcage_health_events_total",
                      .help = "what has happened to the health of devices, by cause",
                      .type = FamilyType::kCounter,
                      .samples = {}};
  for (const auto& [labels, count] : events_) family.samples.push_back({labels, static_cast<double>(count)});
  return family;
}

}  // namespace cardcage
