// How soon a signal about the health of a device reaches the kubelet, and what a storm of signals costs.
#pragma once

#include "tests/bench/figures.h"

namespace cardcage::bench {

void measure_health(Table& table, bool quick);

}  // namespace cardcage::bench
