// The health of a driver's devices, for all its publishers.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "host/core/board.h"
#include "host/model/health.h"

namespace cardcage {

struct HealthReport {
  std::string pool, device;
  KubeletHealth told = KubeletHealth::kUnknown;
  std::string message;
  std::chrono::system_clock::time_point changed;
  friend bool operator==(const HealthReport&, const HealthReport&) = default;
};
// The kubelet's view of a device: "Xid79: the GPU has fallen off the bus".
HealthReport health_report(std::string pool, std::string device, const DeviceHealth& health);
// Every device of a driver.
using HealthList = std::vector<HealthReport>;
using HealthBoard = Board<HealthList>;  // one per driver name
using HealthListPtr = HealthBoard::Value;

}  // namespace cardcage
