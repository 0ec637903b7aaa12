// The queries of nvidia-smi, limited to those of tests/gpu, spelled as the driver's branch spells them.
#pragma once

#include <string>

#include "sim/nvml/state.h"

namespace cardcage::fake_nvml {

// nvidia-smi -q -x
void print_xml(const State& state, const std::string& cuda_version);
// nvidia-smi --query-gpu=COLUMNS --format=csv,noheader. Returns the first unknown column, or nothing.
std::string print_columns(const State& state, const std::string& columns);

}  // namespace cardcage::fake_nvml
