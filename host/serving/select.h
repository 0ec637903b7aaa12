// Which devices a [[module.serve]] entry takes.
#pragma once

#include "host/config/config.h"
#include "host/model/device.h"

namespace cardcage {

// True if every entry of `select` matches. Strings and versions are matched by shell-style globs, numbers and booleans
// by equality; a list matches if one of its items does. An attribute that the device does not have matches nothing.
bool matches(const std::map<std::string, SelectValue>& select, const Device& device);

}  // namespace cardcage
