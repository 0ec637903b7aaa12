// The resource of a [[module.serve]] rule: a name, or a pattern that puts attributes of the device into it, such as
// "nvidia.com/mig-{profile}". A name is a pattern without attributes.
#pragma once

#include <string>
#include <string_view>

#include "host/core/result.h"
#include "host/model/device.h"

namespace cardcage {

// Attributes are allowed only after the '/': the domain is the operator's, independent of the module's reports.
Status check_resource_pattern(std::string_view pattern);

bool has_attributes(std::string_view pattern);

// Returns the valid name that the pattern gives to the device. A character of an attribute that no resource name can
// have becomes '.', as in NVIDIA's device plugin: "1g.5gb+me" gives "1g.5gb.me".
Result<std::string> resource_name(std::string_view pattern, const Device& device);

// The number of characters that the pattern itself contributes to its names.
std::size_t literal_size(std::string_view pattern);

// True if some device would get the name.
bool can_give(std::string_view pattern, const std::string& name);

}  // namespace cardcage
