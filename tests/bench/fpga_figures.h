// Costs of the FPGA module: finding cards, programming them, checking bitstreams.
#pragma once

#include "tests/bench/figures.h"

namespace cardcage::bench {

void measure_fpga(Table& table, bool quick);

}  // namespace cardcage::bench
