// Converts a module's device into a device of a ResourceSlice.
#pragma once

#include <string>

#include "host/model/slice.h"

namespace cardcage {

// An unhealthy device gets the taint "<driver>/unhealthy" with the reason, if its health advises a taint.
SliceDevice slice_device(const Device& device, const std::string& driver);

}  // namespace cardcage
