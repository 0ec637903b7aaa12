// The metrics page for Prometheus.
#pragma once

#include <string>

#include "host/metrics/call_times.h"
#include "host/metrics/collector.h"
#include "host/metrics/health_counters.h"
#include "host/view/daemon_view.h"

namespace cardcage {

// [core] Counts that exist only here. All other figures are read from the daemon for each page, so that no figure is
// stale and no gauge outlives its device.
struct MetricsCounters {
  CallTimes calls;
  HealthCounters health;
};

// The state of the daemon that one page shows.
struct MetricsFacts {
  StatusReport status;
  std::vector<ModuleReport> modules;
  std::vector<DeviceReport> devices;
  MetricsCounters counters;
  std::vector<CollectedMetrics> collected;
};
// [core]
MetricsFacts metrics_facts(const DaemonView& daemon, MetricsCounters counters = {},
                           std::vector<CollectedMetrics> collected = {});

// [any-thread] Writes text format 0.0.4. A large page takes milliseconds, so it is not written on the core.
std::string metrics_text(const MetricsFacts& facts);

}  // namespace cardcage
