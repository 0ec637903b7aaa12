// Costs of the NVIDIA module on a node with sixteen GPUs, on the fake driver.
#pragma once

#include "tests/bench/figures.h"

namespace cardcage::bench {

void measure_nvidia(Table& table, bool quick);

}  // namespace cardcage::bench
