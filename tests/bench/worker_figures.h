// What a process of its own costs a module: the round trip of a call, the start, the memory, and reloads without
// growth.
#pragma once

#include "tests/bench/figures.h"

namespace cardcage::bench {

void measure_workers(Table& table, bool quick);

}  // namespace cardcage::bench
