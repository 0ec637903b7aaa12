// Converts a module's device into a device of a ResourceSlice.
#pragma once

#include <string>
#include <vector>

#include "host/model/health.h"
#include "host/model/slice.h"

namespace cardcage {

// Each of the causes, worst first, that advises a taint gives the device one: its own key and value, or
// "<driver>/unhealthy" with the reason. The worst cause has the say where two give the same key and effect.
// device.health does not count.
SliceDevice slice_device(const Device& device, const std::vector<CauseHealth>& causes, const std::string& driver);

}  // namespace cardcage
