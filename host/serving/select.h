// Selects the devices of a [[module.serve]] entry.
#pragma once

#include "host/config/config.h"
#include "host/model/device.h"

namespace cardcage {

// Returns true if one of the tables selects the device, that is, if the device matches one value of each of its keys.
// Strings and versions are matched by shell-style globs, numbers and booleans by equality; a list of the device matches
// if one of its items does. A missing attribute matches nothing.
bool matches(const Select& select, const Device& device);

}  // namespace cardcage
