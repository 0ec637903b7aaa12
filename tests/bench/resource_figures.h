// Figures of the device-plugin API.
#pragma once

#include "tests/bench/figures.h"

namespace cardcage::bench {

void measure_resources(Table& table, bool quick);

}  // namespace cardcage::bench
