// The figures that modules report, as series for Prometheus.
#pragma once

#include <string>
#include <vector>

#include "host/metrics/collector.h"
#include "host/view/daemon_view.h"

namespace cardcage {

// [any-thread] Text format 0.0.4. `devices` tells the names of the devices and who uses them; samples of others are
// left out. If two modules declare one name with different types, the first one has it.
std::string module_series(const std::vector<CollectedMetrics>& collected, const std::vector<DeviceReport>& devices);

}  // namespace cardcage
