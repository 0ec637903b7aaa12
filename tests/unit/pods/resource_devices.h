#pragma once

#include <string>

#include "host/claim/handed_out.h"

namespace cardcage {

inline const std::string kResource = "example.com/fpga";
inline const ResourceDevice kOne{kResource, "fpga-1"}, kTwo{kResource, "fpga-2"};

}  // namespace cardcage
