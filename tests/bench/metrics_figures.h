// The cost of a scrape.
#pragma once

#include "tests/bench/figures.h"

namespace cardcage::bench {

void measure_scrapes(Table& table, bool quick);

}  // namespace cardcage::bench
