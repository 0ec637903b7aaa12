// Writes the figures that modules report as series for Prometheus.
#pragma once

#include <string>
#include <vector>

#include "host/metrics/collector.h"
#include "host/view/daemon_view.h"

namespace cardcage {

// [any-thread] Writes text format 0.0.4. `devices` supplies the names and users of the devices; samples of other
// devices are left out. If two modules declare one name with different types, the first declaration wins.
std::string module_series(const std::vector<CollectedMetrics>& collected, const std::vector<DeviceReport>& devices);

}  // namespace cardcage
