// Attributes that the operator gives to devices: [[module.attribute]].
#pragma once

#include <vector>

#include "host/config/config.h"
#include "host/model/device.h"

namespace cardcage {

// Adds the attributes whose `select` matches the device, in their order. They replace those of the module and the host,
// which may be wrong for a machine. An attribute that does not fit is left out and logged.
void add_operator_attributes(const std::vector<AttributeConfig>& attributes, Device& device);

}  // namespace cardcage
