// How a device of a module is published.
#pragma once

#include <string>

#include "host/model/slice.h"

namespace cardcage {

// A device that is not healthy gets the taint "<driver>/unhealthy" with the reason, if its health advises one.
SliceDevice slice_device(const Device& device, const std::string& driver);

}  // namespace cardcage
