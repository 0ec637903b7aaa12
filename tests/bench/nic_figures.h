// Costs of the NIC module: finding cards, and moving interfaces to pods.
#pragma once

#include "tests/bench/figures.h"

namespace cardcage::bench {

void measure_nic(Table& table, bool quick);

}  // namespace cardcage::bench
