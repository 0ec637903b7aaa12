// Attributes that the operator gives to devices: [[module.attribute]].
#pragma once

#include <vector>

#include "host/config/config.h"
#include "host/model/device.h"

namespace cardcage {

// Adds those whose `select` takes the device, in their order. They replace what the module and the host say, which may
// be wrong for a machine. One that the device has no room for is left out, and logged.
void add_operator_attributes(const std::vector<AttributeConfig>& attributes, Device& device);

}  // namespace cardcage
