// Compares two device lists of one module.
#pragma once

#include <string>

#include "host/model/device.h"

namespace cardcage {

// Describes the differences for people; empty if both lists name the same devices. Health may change at any time and
// does not count.
std::string device_changes(const Snapshot& before, const Snapshot& after);

}  // namespace cardcage
