// The metrics page for Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats.
#pragma once

#include <prometheus/registry.h>

#include <string>

#include "host/claim/call_meter.h"
#include "host/metrics/collector.h"
#include "host/metrics/health_counters.h"
#include "host/view/daemon_view.h"

namespace cardcage {

// What a page shows of the daemon at one moment.
struct MetricsFacts {
  StatusReport status;
  std::vector<ModuleReport> modules;
  std::vector<DeviceReport> devices;
  std::vector<CollectedMetrics> collected;
};
// [core]
MetricsFacts metrics_facts(const DaemonView& daemon, std::vector<CollectedMetrics> collected = {});

// Only calls and events of health are counted here. Everything else is read from the daemon for each page, so that no
// figure is stale and no gauge outlives its device.
class Metrics final : public CallMeter {
 public:
  Metrics();

  // [core]
  void answered(KubeletCall call, const std::string& name, Code code, Duration took) override;
  HealthCounters& health() { return health_; }
  // [any-thread] Text format 0.0.4. A large page takes milliseconds, so it is not written on the core.
  std::string page(const MetricsFacts& facts) const;

 private:
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Histogram>& calls_;
  HealthCounters health_{registry_};
};

}  // namespace cardcage
