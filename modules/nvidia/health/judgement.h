// Judges the health of a GPU by its readings.
#pragma once

#include <cardcage/sdk.hpp>
#include <vector>

#include "modules/nvidia/health/readings.h"

namespace cardcage::nvidia {

// Returns one statement about each cause that the readings cover, including healthy ones. The host decides when a cause
// starts to count and when it is over.
std::vector<cage::Health> judge(const Readings& now);

}  // namespace cardcage::nvidia
