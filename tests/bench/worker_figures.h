// Costs of a worker process: the round trip of a call, the start, the memory, and growth over reloads.
#pragma once

#include "tests/bench/figures.h"

namespace cardcage::bench {

void measure_workers(Table& table, bool quick);

}  // namespace cardcage::bench
