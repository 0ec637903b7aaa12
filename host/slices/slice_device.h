// Converts a module's device into a device of a ResourceSlice.
#pragma once

#include <string>
#include <vector>

#include "host/model/health.h"
#include "host/model/slice.h"

namespace cardcage {

// Each cause that advises a taint adds one, worst cause first: its own key and value, or "<driver>/unhealthy" with the
// reason. The worst cause wins if two have the same key and effect. device.health is ignored.
SliceDevice slice_device(const Device& device, const std::vector<CauseHealth>& causes, const std::string& driver);

}  // namespace cardcage
