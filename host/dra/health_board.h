// The health of a driver's devices, for everybody who publishes it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "host/core/board.h"
#include "host/model/device.h"

namespace cardcage {

struct HealthReport {
  std::string pool, device;
  Health health;
  std::chrono::system_clock::time_point changed;
  friend bool operator==(const HealthReport&, const HealthReport&) = default;
};
// Every device of a driver.
using HealthList = std::vector<HealthReport>;
using HealthBoard = Board<HealthList>;  // one per driver name
using HealthListPtr = HealthBoard::Value;

}  // namespace cardcage
