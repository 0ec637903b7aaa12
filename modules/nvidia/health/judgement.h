// What the readings of a GPU mean for its health.
#pragma once

#include <cardcage/sdk.hpp>
#include <vector>

#include "modules/nvidia/health/readings.h"

namespace cardcage::nvidia {

// One statement about each cause that the readings tell of, also if it is well. The host decides from when on it counts
// and when it is over.
std::vector<cage::Health> judge(const Readings& now);

}  // namespace cardcage::nvidia
