// Resets whole GPUs by nvidia-smi, which requires that no process has them open.
#pragma once

#include <cardcage/sdk.hpp>
#include <string_view>
#include <vector>

#include "modules/nvidia/devices.h"
#include "modules/nvidia/driver.h"

namespace cardcage::nvidia {

// The GPU that a reset of the device resets, with its partitions. Throws cage::Error if it cannot be reset alone.
Gpu gpu_to_reset(Driver& driver, std::string_view device_id, const Offer& offer);

// Resets the GPUs together, because GPUs that NVLink connects may need it. Closes the driver, and turns persistence
// mode off meanwhile. Throws cage::Error.
void reset_together(const cage::Call& call, Driver& driver, const std::vector<Gpu>& gpus);

}  // namespace cardcage::nvidia
