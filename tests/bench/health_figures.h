// The time that a signal about the health of a device takes to the kubelet, and the cost of a storm of signals.
#pragma once

#include "tests/bench/figures.h"

namespace cardcage::bench {

void measure_health(Table& table, bool quick);

}  // namespace cardcage::bench
